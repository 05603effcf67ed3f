package predict

// Models returns every model, by name.
func Models() []Method {
	return []Method{ernest(), bell(), cobell(), cobellNP(), bayesErnest(), bayesCoBell()}
}

package good

package none // want "no package comment"

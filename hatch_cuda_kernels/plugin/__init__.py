"""Build side: manifest -> plan -> compile pool -> store, and the Hatch hook around it."""

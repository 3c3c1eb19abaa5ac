"""The scores as one HTML page, with what each of them rests on."""

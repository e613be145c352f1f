"""scikit-learn's conventions for `curvedp.PrivateMail`, which does not need scikit-learn."""

"""The commands of the lab, one file each; `bandstand.cli` lists them."""

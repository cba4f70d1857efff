# figures.awk SAID PAGE: TEXT in the environment, with {key format} or {key*factor format} for lines key=value of SAID,
# stands once on PAGE with any figures in these places; they must be those of now. The format < is the power of ten above;
# of a key that is said often the largest counts. WRITE=write: they need not be; WRITE=page: prints PAGE with those of now.
function value(key,    at, factor) {
    factor = 1
    if (at = index(key, "*")) { factor = substr(key, at + 1) + 0; key = substr(key, 1, at - 1) }
    if (!(key in said)) { print "it does not say " key; missing = 1; exit 1 }
    return said[key] * factor
}
function above(v,    n) {
    if (v == 0) return "0"
    for (n = 0; 10 ^ n < v; n++) continue
    for (; 10 ^ (n - 1) >= v; n--) continue
    return n == 0 ? "1" : "1e" n
}
FNR == NR {
    if (split($0, part, "=") == 2 && part[1] ~ /^[A-Za-z_0-9]+$/ && (!(part[1] in said) || part[2] + 0 > said[part[1]] + 0))
        said[part[1]] = part[2]
    next
}
{ page = page $0 "\n" }
END {
    if (missing) exit 1
    left = ENVIRON["TEXT"]
    while (at = index(left, "{")) {
        plain = substr(left, 1, at - 1)
        left = substr(left, at + 1)
        slot = substr(left, 1, index(left, "}") - 1)
        left = substr(left, index(left, "}") + 1)
        split(slot, part, " ")
        figure = part[2] == "<" ? above(value(part[1])) : sprintf(part[2], value(part[1]))
        if (missing) exit 1
        sub(/e-0/, "e-", figure)
        sub(/e\+0?/, "e", figure)
        if (figure ~ /^0[.0]*e0$/) figure = "0"
        filled = filled plain figure
        gsub(/[][(){}.*+?^$|\\\/]/, "\\\\&", plain)
        pattern = pattern plain "-?[0-9][0-9.]*(e-?[0-9]+)?"
    }
    filled = filled left
    gsub(/[][(){}.*+?^$|\\\/]/, "\\\\&", left)
    pattern = pattern left
    if (!match(page, pattern)) { print "no line like \"" ENVIRON["TEXT"] "\""; exit 1 }
    now = substr(page, RSTART, RLENGTH)
    before = substr(page, 1, RSTART - 1)
    after = substr(page, RSTART + RLENGTH)
    if (match(after, pattern)) { print "twice \"" ENVIRON["TEXT"] "\""; exit 1 }
    if (ENVIRON["WRITE"] == "page") { printf "%s%s%s", before, filled, after; exit 0 }
    if (ENVIRON["WRITE"] != "write" && now != filled) { print "\"" now "\" is \"" filled "\" now"; exit 1 }
}

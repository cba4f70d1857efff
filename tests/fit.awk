# fit.awk PAGE: the page with lines of at most 120 characters. Prose is wrapped again from the first line that is too long;
# a cell of a table of up to four columns goes on in a row below, at a comma or another pause; wider tables are cut into
# several, each with the columns that tell the rows apart. Programs stand as they are. Run with LC_ALL=C.

function chars(s) { gsub(/[\200-\277]/, "", s); return length(s) }

# the words of s, where `code` and [links](to) are one each, into word[1..]
function words(s, word,    n, at, c, code, link, now) {
    for (at = 1; at <= length(s); at++) {
        c = substr(s, at, 1)
        if (c == "`" && substr(s, at - 1, 1) != "\\") code = !code
        if (!code && c == "[") link = 1
        if (!code && c == "]" && substr(s, at + 1, 1) != "(") link = 0
        if (!code && c == ")") link = 0
        if (c == " " && !code && !link) {
            if (now != "") word[++n] = now
            now = ""
        } else now = now c
    }
    if (now != "") word[++n] = now
    return n
}

# prose: s in lines, those after the first begin with lead
function wrap(s, lead,    n, i, line, word) {
    n = words(s, word)
    match(s, /^ */)
    word[1] = substr(s, 1, RLENGTH) word[1]
    for (i = 1; i <= n; i++) {
        if (line != "" && chars(line " " word[i]) > MOST) { print line; line = "" }
        line = line == "" ? (i == 1 ? "" : lead) word[i] : line " " word[i]
    }
    if (line != "") print line
}

# the cells of a row into cell[1..]; a pipe after a backslash is none
function cells(row, cell,    n, i, part, got) {
    got = split(substr(row, 2), part, "|")
    n = 1
    cell[1] = ""
    for (i = 1; i <= got; i++) {
        cell[n] = cell[n] part[i]
        if (part[i] ~ /\\$/ && i < got) cell[n] = cell[n] "|"
        else if (i < got) cell[++n] = ""
    }
    if (cell[n] ~ /^ *$/) n--
    for (i = 1; i <= n; i++) { sub(/^ +/, "", cell[i]); sub(/ +$/, "", cell[i]) }
    return n
}

# as much of s as goes into width, up to a pause if one is not far; the rest is left in REST
function head(s, width,    n, i, line, best, word, from) {
    REST = ""
    if (chars(s) <= width) return s
    n = words(s, word)
    for (i = 1; i <= n && (line == "" || chars(line " " word[i]) <= width); i++) {
        line = line == "" ? word[i] : line " " word[i]
        if (word[i] ~ /[;:,.]$/ && chars(line) > width / 2) { best = line; from = i + 1 }
    }
    if (best != "") { line = best; i = from }
    for (; i <= n; i++) REST = REST == "" ? word[i] : REST " " word[i]
    return line
}

function longest(s,    n, i, most, word) {
    n = words(s, word)
    for (i = 1; i <= n; i++) if (chars(word[i]) > most) most = chars(word[i])
    return most + 0
}

# a row whose cells go on in rows below
function lower(row,    n, i, cell, width, sum, widest, line, more) {
    n = cells(row, cell)
    do {
        sum = 1
        for (i = 1; i <= n; i++) { width[i] = chars(cell[i]); sum += width[i] + 3 }
        while (sum > MOST) {
            widest = 0
            for (i = 1; i <= n; i++) if (width[i] > longest(cell[i]) && (!widest || width[i] > width[widest])) widest = i
            if (!widest) break
            width[widest]--
            sum--
        }
        line = "|"
        more = 0
        for (i = 1; i <= n; i++) {
            line = line " " head(cell[i], width[i]) (cell[i] == "" ? "|" : " |")
            cell[i] = REST
            if (REST != "") more = 1
        }
        print line
    } while (more)
}

# a table of many columns, cut: the first ones, which tell the rows apart, and as many others as have room
function cut(    r, c, n, k, all, key, seen, same, cell, keys, full, from, to, sum, line) {
    for (r = 1; r <= rows; r++) {
        n = cells(table[r], cell)
        if (r == 1) all = n
        for (c = 1; c <= all; c++) at[r, c] = c <= n ? cell[c] : ""
    }
    for (k = 1; k < 3; k++) {
        split("", seen)
        same = 0
        for (r = 3; r <= rows; r++) {
            key = ""
            for (c = 1; c <= k; c++) key = key "|" at[r, c]
            if (key in seen) same = 1
            seen[key] = 1
        }
        if (!same) break
    }
    for (r = 1; r <= rows; r++) for (c = 1; c <= k; c++) keys[r] += chars(at[r, c]) + 3
    for (from = k + 1; from <= all; from = to + 1) {
        for (r = 1; r <= rows; r++) sum[r] = 1 + keys[r]
        for (to = from; to <= all; to++) {
            full = 0
            for (r = 1; r <= rows; r++) if ((sum[r] += chars(at[r, to]) + 3) > MOST && r != 2) full = 1
            if (full && to > from) break
        }
        to--
        if (from > k + 1) print ""
        for (r = 1; r <= rows; r++) {
            line = "|"
            for (c = 1; c <= all; c++)
                if (c <= k || (c >= from && c <= to)) line = line (r == 2 ? at[r, c] : " " at[r, c] " ") "|"
            if (chars(line) > MOST && r > 2) lower(line) # a head has one row: shorten it by hand
            else print line
        }
    }
}

function end_table(    r, long, cell) {
    for (r = 1; r <= rows; r++) if (chars(table[r]) > MOST) long = 1
    if (long && cells(table[1], cell) > 4) cut()
    else for (r = 1; r <= rows; r++) if (chars(table[r]) > MOST && r > 2) lower(table[r]); else print table[r]
    rows = 0
}

function end_prose() { if (prose != "") wrap(prose, lead); prose = "" }

BEGIN { MOST = 120 }
rows && !/^\|/ { end_table() }
/^```/ { end_prose(); print; fence = !fence; next }
fence { print; next }
/^\|/ { end_prose(); table[++rows] = $0; next }
# a paragraph that is being wrapped takes the lines up to a blank one or an item
prose != "" && !/^ *$/ && !/^ *[-*] / && !/^ *[0-9]+\. / && !/^#/ && !/^<!--/ { sub(/^ +/, ""); prose = prose " " $0; next }
{ end_prose() }
chars($0) > MOST && !/^ {4}/ && !/^#/ {
    match($0, /^ *([-*] |[0-9]+\. )?/)
    lead = sprintf("%" RLENGTH "s", "")
    prose = $0
    next
}
{ print }
END { if (rows) end_table(); end_prose() }

/* io/xml: tags and attributes of XML, for grids of VTK and for URDF; text between tags is passed over. */
#include "private.h"

#ifndef CONDSIM_NO_LOADERS

CSIMI_FN bool csimi_slice_is(csimi_slice s, const char *word) {
    for (; s.begin < s.end && *word && *word == *s.begin; ++word) ++s.begin;
    return s.begin == s.end && !*word;
}

CSIMI_FN bool csimi_slices_equal(csimi_slice a, csimi_slice b) {
    for (; a.begin < a.end && b.begin < b.end && *a.begin == *b.begin; ++a.begin) ++b.begin;
    return a.begin == a.end && b.begin == b.end;
}

static bool csimi_xml_name_char(char c) {
    return !csimi_is_space(c) && c != '>' && c != '/' && c != '=' && c != '"' && c != '\'' && c != '<';
}

/* Moves behind the next place where the text has these characters; false at the end of the text. */
static bool csimi_xml_pass(csimi_text *t, const char *mark) {
    for (; t->at < t->end; ++t->at)
        if (csimi_text_begins(t, mark)) {
            while (*mark++) ++t->at;
            return true;
        }
    return false;
}

CSIMI_FN bool csimi_xml_next(csimi_text *t, csimi_xml_tag *tag) {
    char quote = 0;
    CSIMI_MEMSET(tag, 0, sizeof *tag);
    for (;;) {
        while (t->at < t->end && *t->at != '<') ++t->at;
        t->token = t->at;
        if (t->at == t->end) return false;
        if (csimi_text_begins(t, "<!--")) {
            if (!csimi_xml_pass(t, "-->")) return csimi_text_fail(t, CSIM_PARSE_ERROR, "a comment does not end");
        } else if (csimi_text_begins(t, "<?") || csimi_text_begins(t, "<!")) {
            if (!csimi_xml_pass(t, ">")) return csimi_text_fail(t, CSIM_PARSE_ERROR, "a declaration does not end");
        } else {
            break;
        }
    }
    ++t->at;
    tag->closing = t->at < t->end && *t->at == '/';
    if (tag->closing) ++t->at;
    tag->name.begin = t->at;
    while (t->at < t->end && csimi_xml_name_char(*t->at)) ++t->at;
    tag->name.end = tag->attributes.begin = t->at;
    if (tag->name.begin == tag->name.end)
        return csimi_text_fail(t, CSIM_PARSE_ERROR, "< without the name of an element");
    for (; t->at < t->end && (quote || *t->at != '>'); ++t->at) {
        if (quote ? *t->at == quote : *t->at == '"' || *t->at == '\'') quote = quote ? 0 : *t->at;
        if (!quote && *t->at == '<') return csimi_text_fail(t, CSIM_PARSE_ERROR, "an element does not end with >");
    }
    if (t->at == t->end) return csimi_text_fail(t, CSIM_PARSE_ERROR, "an element does not end with >");
    tag->attributes.end = t->at++;
    tag->empty = !tag->closing && tag->attributes.end > tag->attributes.begin && tag->attributes.end[-1] == '/';
    if (tag->empty) --tag->attributes.end;
    return true;
}

CSIMI_FN bool csimi_xml_attribute(const csimi_xml_tag *tag, const char *name, csimi_slice *value) {
    const char *p = tag->attributes.begin, *end = tag->attributes.end;
    while (p < end) {
        csimi_slice key;
        char quote;
        while (p < end && !csimi_xml_name_char(*p)) ++p;
        key.begin = p;
        while (p < end && csimi_xml_name_char(*p)) ++p;
        key.end = p;
        while (p < end && csimi_is_space(*p)) ++p;
        if (p == end || *p != '=') continue;
        for (++p; p < end && csimi_is_space(*p);) ++p;
        if (p == end || (*p != '"' && *p != '\'')) continue;
        quote = *p++;
        value->begin = p;
        while (p < end && *p != quote) ++p;
        value->end = p;
        if (p < end) ++p;
        if (csimi_slice_is(key, name)) return true;
    }
    return false;
}

#endif

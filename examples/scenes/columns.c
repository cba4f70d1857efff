#include "columns.h"

static const char *const column_names[] = {
#define COLUMN_X(name, value) #name,
    COLUMN_LIST(COLUMN_X)
#undef COLUMN_X
};

void columns_of(const csim_world *w, const csim_step_stats *t, double *out) {
    const csim_totals e = csim_world_totals(w);
#define COLUMN_X(name, value) *out++ = (value);
    COLUMN_LIST(COLUMN_X)
#undef COLUMN_X
}

void columns_add(column_sums *s, const csim_step_stats *t, const double *value) {
    int i;
    for (i = 0; i < COLUMN_COUNT; i++)
        if (s->steps == 0 || value[i] > s->max[i]) s->max[i] = value[i];
    s->steps++;
    s->capped += (t->flags & CSIM_FLAG_CAP) != 0;
    s->stalled += (t->flags & CSIM_FLAG_STALLED) != 0;
    s->uncertified += (t->flags & CSIM_FLAG_UNCERTIFIED) != 0;
    if (t->contacts == 0) return;
    for (i = 0; i < COLUMN_COUNT; i++) {
        if (s->contact_steps == 0)
            s->first[i] = value[i];
        else
            s->sum[i] += value[i];
    }
    s->contact_steps++;
}

double columns_mean(const column_sums *s, int column) {
    return s->contact_steps > 1 ? s->sum[column] / (s->contact_steps - 1) : s->first[column];
}

void columns_write_header(FILE *file) {
    int i;
    for (i = 0; i < COLUMN_COUNT; i++) fprintf(file, "%s%s", i ? "," : "", column_names[i]);
    fprintf(file, "\n");
}

void columns_write_row(FILE *file, const double *value) {
    int i;
    for (i = 0; i < COLUMN_COUNT; i++) fprintf(file, "%s%.9g", i ? "," : "", value[i]);
    fprintf(file, "\n");
}

void columns_write_summary(FILE *file, const column_sums *s) {
    int i;
    for (i = 0; i < COLUMN_COUNT; i++) fprintf(file, "mean_%s=%.9g\n", column_names[i], columns_mean(s, i));
    for (i = 0; i < COLUMN_COUNT; i++) fprintf(file, "max_%s=%.9g\n", column_names[i], s->max[i]);
    for (i = 0; i < COLUMN_COUNT; i++) fprintf(file, "first_%s=%.9g\n", column_names[i], s->first[i]);
    fprintf(file, "steps=%d\ncontact_steps=%d\ncapped_steps=%d\nstalled_steps=%d\nuncertified_steps=%d\n", s->steps,
            s->contact_steps, s->capped, s->stalled, s->uncertified);
}

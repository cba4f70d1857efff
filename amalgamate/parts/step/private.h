/* step/private: the stages of a step, and the frame they share. */
#ifndef CSIMI_STEP_PRIVATE_H
#define CSIMI_STEP_PRIVATE_H

#include "../store/private.h"
#include "../solve/private.h"

/* Whether bodies of a build meet each other: boxes and hulls alone, which know no stacks, meet half-spaces, and those
   stand. And whether each is then an island of its own, for nothing else ties them together either. */
#if defined(CONDSIM_NO_STACKS) && defined(CONDSIM_NO_ROUND) && defined(CONDSIM_NO_FIELDS) && !CSIMI_HAS_NODES && \
    !CSIMI_HAS_TREES
#define CSIMI_MEETS 0
#else
#define CSIMI_MEETS 1
#endif
#if !CSIMI_MEETS && defined(CONDSIM_NO_JOINTS) && defined(CONDSIM_NO_SPRINGS)
#define CSIMI_ALONE 1
#else
#define CSIMI_ALONE 0
#endif
#define CSIMI_SIDE_BY_SIDE !CSIMI_ALONE /* whether threads may share the islands of a step */
CSIM_INLINE bool csimi_has_threads(const csim_world *w) {
#ifdef CONDSIM_OPENMP
    return (void)w, true;
#else
    return w->def.tasks.run != NULL;
#endif
}
/* Whether impulses are solved for where they are: nobody asks afterwards how they began. */
#if defined(CONDSIM_NO_RESTRAINT) && defined(CONDSIM_NO_BOUNDED)
#define CSIMI_IN_PLACE 1
#else
#define CSIMI_IN_PLACE 0
#endif

/* ---- the frame of a step: scratch that lives from its first to its last line */

/* What is told of a found contact after the step: slots; the shapes, -1: of a body of nodes; its record of the step
   before, -1: new; a point on a's surface; m/s: how fast those came that begin to press, or info.coming. */
#define CSIMI_FOUND_TOLD                                 \
    uint64_t id;                                         \
    int body_a, body_b, part_a, part_b, last;            \
    csim_vec3 point_a;                                   \
    csim_real gap, speed;
/* A found contact before it becomes a row. */
typedef struct csimi_found_contact {
    CSIMI_FOUND_TOLD
    csim_vec3 normal;
    csim_real left;     /* m/s: how fast they may still close after the step, which is phi without what is given */
    csimi_place a, b;   /* both at meet: what acts there on a and b has no couple left over, and momentum is kept */
#if CSIMI_HAS_NODES
    int shape_b;        /* node against shape: exact distance can be taken again; else -1 */
    int surface_b;      /* something against the surface of a solid: its slot, else -1 */
    int self;           /* vertex of the same solid: its place in the surface, else -1 */
#endif
    csim_real radius;   /* of a's point beyond its place: radii and thicknesses */
    csim_vec3 meet;
#if CSIMI_HAS_NODES
    csim_real sink;   /* m: how much deeper than the gap says it lies, edges of cables: what their nodes leave */
#endif
} csimi_found_contact;
#if CSIMI_HAS_FAR || !defined(CONDSIM_NO_STATISTICS) || !defined(CONDSIM_NO_PATHS) || !defined(CONDSIM_NO_EVENTS) || \
    !defined(CONDSIM_NO_BOUNDED) || !defined(CONDSIM_NO_JOINTS)
#define CSIMI_TOLD_APART 0
typedef csimi_found_contact csimi_told_contact;
#else
#define CSIMI_TOLD_APART 1 /* once islands are solved nobody asks for more: they take the room of the rest */
typedef struct csimi_told_contact {
    CSIMI_FOUND_TOLD
} csimi_told_contact;
#endif
/* Whether contacts of the last step may be told again: of what stands, or of rows that are kept. */
#if !defined(CONDSIM_NO_SLEEP) || !defined(CONDSIM_NO_BOUNDED)
#define CSIMI_TELLS 1
#else
#define CSIMI_TELLS 0
#endif
#if !defined(CONDSIM_NO_SLEEP) && !CSIMI_TOLD_APART && !defined(CONDSIM_TINY)
#define CSIMI_HAS_KNOWN 1 /* whether islands that stand are passed over: known.c */
#else
#define CSIMI_HAS_KNOWN 0
#endif
CSIM_INLINE csim_real csimi_sink_of(const csimi_found_contact *c) {
#if CSIMI_HAS_NODES
    return c->sink;
#else
    return (void)c, CSIM_R(0);
#endif
}

/* The same in worlds with bounded frames. */
typedef struct csimi_found_kept {
    csimi_kept kept;
    csim_vec3 meet_b; /* of kept rows: where the impulse acts on b, beside meet for a */
    csim_real push;   /* m/s, <= 0: the part of phi that pushes out */
    int heir;         /* 1 + the contact of the last step whose impulse it takes over, though features differ; or 0 */
} csimi_found_kept;

/* Two shapes of this step or the one before, or the bodies they are of. touching.c */
typedef struct csimi_encounter {
    csim_body_id body[2];
    int shape[2]; /* in their bodies, as events tell them */
    int was, now; /* whether they touched, do; bodies: how many of their pairs */
    int last;     /* the record of the step before, -1: none */
    int whole;    /* of shapes that touch or did: the pair of their bodies */
    bool sensor; /* the first is one, which sees the second */
    bool seen, presses, told, swapped;
    csim_real gap;
    int hardest;     /* found contact that came fastest of those that are stopped, -1: none */
    csim_real speed; /* at which it came */
    csim_vec3 impulse;
} csimi_encounter;

typedef struct csimi_encounters {
    csimi_encounter *pair;        /* [capacity] those of shapes first */
    int *table;              /* [size] by hash; a power of two */
    csim_touch_event *event; /* [touches] the next records, in groups */
    unsigned char *moved;    /* [bodies] by slot */
    csimi_encounter *recent;
    int capacity, size, count, shapes, events, needed;
    int group[CSIMI_TOUCH_GROUPS];
} csimi_encounters;

/* What a sensor saw: its shape, the other's body and shape (-1: of a body of nodes). */
typedef struct csimi_sensed {
    int sensor, body, shape;
    csim_real gap;
} csimi_sensed;

/* Two shapes with a contact in sight whose straight ways of the step miss each other: it is none, as long as they keep
   to these ways. */
typedef struct csimi_passing {
    int a, b;
    csim_vec3 way; /* of a beside b, m */
    csim_real pad; /* how far off it they may come, m */
    bool strays;   /* they came farther */
} csimi_passing;

/* Positions and rotations of csimi_state. */
typedef struct csimi_drift {
    csim_real *x, *com, *rotation, *frame;
} csimi_drift;

typedef struct csimi_step_frame {
    csim_real h, theta, sigma;
    csimi_drift drift;          /* two-step worlds: where bodies are after half a step */
    csim_real *aim;             /* [6 blocks] worlds with cables or joints: v* of Newton's method, and more */
    csim_real *frozen;          /* [3 blocks] half-step worlds: A v of what is not elastic */
    csimi_state next;           /* state after the step: own positions, shared constants */
    csim_real *vk, *b, *v;      /* [3 blocks] */
    csim_real *v_end;           /* [3 blocks] v_{k+1} */
    csim_real *rep;             /* [3 blocks] last representative velocity; where `moves`, then that of positions */
    const csim_real *start;     /* [3 blocks] start of the solve */
    unsigned char *skip;        /* [blocks] 1: not an unknown */
    csim_real *margin;          /* [shapes] how far each may go and be seen, m */
    unsigned char *driven;      /* [bodies] 1: it went into something that no row knew of */
    unsigned char *missed;      /* [blocks] 1: of an island whose solve missed; or CSIMI_MISSED_... */
    csimi_found_contact *found; /* [contacts] */
    csimi_told_contact *told;   /* [contacts] the same, or what is told of them */
    csimi_found_kept *kept;     /* [contacts] in worlds with bounded frames */
    csimi_passing *passing;     /* [shapes] as many as there is room for */
    int passing_count, strays;
    int blocks, found_count; /* of the whole world */
    csim_contact *contacts;  /* [csimi_most_rows] */
    csim_term *terms;       /* [csimi_most_terms] */
    int *term_block;        /* [csimi_most_terms] blocks of the world, while islands are solved and terms have theirs */
    csim_real *lambda;      /* [3 csimi_most_rows] */
    int contact_count, term_count;
    int first_joint_row;         /* behind those of contacts and of rolling */
    int tree_rows;               /* asked for */
    int first_tree_row;          /* rows of joints of trees, behind those of contacts and joints ... */
    int *tree_row;               /* [rows of joints] ... and where their impulses are kept */
    int *island, *contact_island; /* [blocks], [csimi_most_rows] */
    bool moves;                   /* the solver says by which velocity positions go (XPBD) */
    bool again;                   /* islands are being solved once more */
    int island_count;
    int *local;                               /* [blocks] number inside its island */
    int *island_blocks;                       /* [blocks] blocks sorted by island */
    int *island_contacts;                     /* [csimi_most_rows] */
    int *island_first, *island_contact_first; /* [blocks + 1] */
    csim_real *aggregate_centre;              /* [3 aggregates] per solid aggregate and rigid body */
    csim_real *aggregate_radius;
    int *aggregate_of;     /* [blocks], -1: none */
    int *aggregate_number; /* [blocks] sorted by island: the same, by its number in the island */
    int aggregates, substeps; /* substeps: of bounded frames */
    csimi_joint *joint;       /* [joints] as they were: a step writes its rows into them, one that fails undoes that */
    csimi_axes *axes;         /* [axes] the same */
    size_t solved_in;        /* mark of the arena: islands are solved from here on, where the next three lie later */
    csim_contact_info *info; /* [contacts] the next contact list; before islands are solved room for what was found */
    uint64_t *ended;         /* [contacts] */
    unsigned char *carried;  /* [contacts] 1: this record of the step before still carries an impulse */
    int ended_count;
    csim_real *sigma_of_body; /* [bodies] next spectral estimates */
    csim_real *gap;           /* [csimi_most_rows] gap over h, m/s; this and the next in worlds with bounded frames */
    csimi_pace *pace;         /* [bodies] */
#if CSIMI_HAS_KNOWN
    bool passes;              /* islands that are known are passed over; and those known afterwards: */
    unsigned char *knows;     /* [bodies] 1: of one of them */
    csimi_known next_known;
#endif
    long work, reserved;      /* visits done, and kept for the bounded frames of islands to come */
#ifndef CONDSIM_NO_EVENTS
    csimi_encounters pairs;
#endif
    csimi_shelf shelf;    /* factors of A */
    csimi_sensed *sensed; /* [pairs] */
    int sensed_count;
    csim_step_stats *stats; /* of the world, which a step fills from zero */
} csimi_step_frame;

/* What ranges of a loop over contacts or bodies read, and where each writes its own. */
typedef struct csimi_stage {
    csim_world *w;
    csimi_step_frame *f;
} csimi_stage;
CSIMI_KNOWN void csimi_share(csim_world *w, csimi_step_frame *f, int count, int grain, csim_range_fn *fn) {
    csimi_stage stage;
    stage.w = w;
    stage.f = f;
    csimi_parallel(&w->def.tasks, count, grain, fn, &stage);
}
/* Lays the frame out for the given counts (capacities when counting). */
CSIMI_FN void csimi_frame_layout(csimi_step_frame *frame, const csimi_counts *n, csimi_arena *arena);
CSIMI_FN int csimi_most_rows(const csimi_counts *n);        /* contacts, joints, joints of trees */
CSIMI_FN int csimi_most_side(const csimi_counts *n);        /* of a side of a contact, in terms */
CSIMI_FN int csimi_most_terms(const csimi_counts *n);       /* of all those rows */
CSIMI_FN int csimi_most_aggregates(const csimi_counts *n);  /* of the coarse correction */

/* ---- shorten.c: the last rung below a missed solve */
CSIMI_FN bool csimi_can_shorten(const csim_world *world, const csimi_step_frame *frame);
CSIMI_FN csim_status csimi_shorten(csim_world *world, csimi_step_frame *frame, const csimi_step *step,
                                   csimi_arena *arena);
CSIMI_FN bool csimi_stand_still(csim_world *world, csimi_step_frame *frame, const csimi_step *step);
/* in frame->missed: of a node that was held on its way; of an island that stands still */
enum { CSIMI_MISSED_HELD = 2, CSIMI_MISSED_STILL };
/* Positions and velocities after the step by frame->v. step.c */
CSIMI_FN csim_status csimi_integrate(csim_world *world, csimi_step_frame *frame, const csimi_step *step);

/* ---- deformed.c: surfaces of solids as volumes, in their deformed configuration. Built when first asked for. */
typedef struct csimi_surfaces {
    const csim_world *world;
    const csimi_state *state; /* whose positions */
    csim_real *x;
    float *box;
    csimi_surface *of;   /* [bodies] by slot */
    unsigned char *made; /* [bodies] */
} csimi_surfaces;
CSIMI_FN void csimi_surfaces_layout(csimi_surfaces *s, const csimi_counts *n, csimi_arena *arena);
CSIMI_FN void csimi_surfaces_start(csimi_surfaces *s, const csim_world *world, const csimi_state *state);
CSIMI_FN const csimi_surface *csimi_surface_of(csimi_surfaces *s, int slot);
/* Signed distance of a point to the surface of a solid: < 0 inside. Beyond within it need not be found: false then.
   self: place of the point among the solid's own surface nodes, or -1. */
CSIMI_FN bool csimi_surface_gap(csimi_surfaces *s, int slot, csim_vec3 p, csim_real within, int self,
                                csimi_surface_hit *hit, csim_real *gap);

/* ---- detect.c: contacts of the current positions. CSIM_CAPACITY with flags and counts in frame->stats. */

/* What the broad phase sees. */
typedef enum csimi_object_kind { CSIMI_OBJECT_SHAPE, CSIMI_OBJECT_PARTICLE, CSIMI_OBJECT_SOLID } csimi_object_kind;

typedef struct csimi_object {
    csimi_object_kind kind;
    int body, item;   /* slot; shape or node index */
    csim_real margin; /* how far its surface may come in this step, m */
    csim_real push;   /* its part without velocity: half the contact distance and accelerations, m */
    csim_pose at;     /* of a shape, its local pose included */
    csim_vec3 v;      /* of its middle */
    csim_real turn;   /* how far turning may take its points beside that, m */
    csim_real far;    /* its farthest point from the centre of mass, m */
} csimi_object;

/* Edges of cables, for their own broad phase. */
typedef struct csimi_edges {
    int count;
    csim_real *margin, *lower, *upper;
    int *frame, *group;
    void *broad;
} csimi_edges;

/* Hash of the contacts of the step before by id. warm.c */
typedef struct csimi_last_table {
    int *table;
    int table_size; /* a power of two */
} csimi_last_table;
CSIMI_FN int csimi_table_size(int contacts);
CSIMI_FN void csimi_last_layout(csimi_last_table *r, const csimi_counts *n, csimi_arena *arena);
CSIMI_FN int csimi_slot_of(const csimi_last_table *r, uint64_t key); /* where to look for it, and on from there */
CSIMI_FN void csimi_last_clear(csimi_last_table *r, int count);
CSIMI_FN void csimi_last_put(csimi_last_table *r, uint64_t key, int i);
CSIMI_FN void csimi_index_contacts(const csim_world *w, csimi_last_table *r);
CSIMI_FN int csimi_last_contact(const csim_world *w, const csimi_last_table *r, uint64_t id); /* -1: none */
CSIMI_FN size_t csimi_rows_scratch(const csimi_counts *n);

/* Scale of last impulses: forces persist, so impulses go with h. */
CSIMI_FN csim_real csimi_warm_scale(const csim_world *w, const csimi_step_frame *f);

/* What two shapes have between them, found by one of several threads before pairs are gone through: touches, or, touch
   null, the contacts of the last step told again from the first on. That is -1 where there were none: with touch null
   nobody has looked. */
typedef struct csimi_early {
    csim_touch *touch;
    int count, first;
} csimi_early;
CSIM_INLINE bool csimi_is_early(const csimi_early *e) { return e && (e->touch || e->first >= 0); }

typedef struct csimi_detector {
    csim_world *world;
    csimi_step_frame *frame;
    csimi_object *object;
    csim_real *lower, *upper;
    int *group, *pairs;
    csimi_early *early; /* [pairs] or null */
    void *broad;
    csimi_surfaces surfaces;
    csimi_edges edges;
    uint64_t *excluded; /* pairs of slots that links keep apart, low << 32 | high, by the low one */
    int excluded_count;
    csimi_last_table last; /* where there is cloth */
    csimi_last_table kept; /* of pairs: those of kept rows in worlds with bounded frames, of the last contacts else */
    int *kept_next;        /* [kept] the next contact of the same pair, or -1 */
    csimi_giving *give;    /* [tree_links] of the tree at hand, if the user pushes it */
    bool pushed;
    csim_real ahead; /* steps that a contact must be found ahead */
    csim_real fall;  /* |gravity| */
    int count;
    int needed; /* contacts found, beyond the capacity too */
    int room;   /* for contacts: the capacity without those of sleepers */
    bool sleepers; /* some bodies are asleep */
    int near_count;
    uint64_t *near; /* [leaves] what lies in bed near what is awake: slot << 32 | part */
    unsigned char *seen; /* [leaves] */
    int first_still; /* objects from here on lie in bed */
    bool woke;       /* the step begins anew */
} csimi_detector;

CSIMI_FN csim_status csimi_detect(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
CSIMI_FN size_t csimi_detect_scratch(const csimi_counts *n);
/* ---- standing.c: contacts of shapes that have not moved are those of the last step */
#ifndef CONDSIM_NO_SLEEP
#define CSIMI_HAS_STANDING 1
CSIMI_FN void csimi_index_standing(csimi_detector *d);
/* The first contact that these two had in the last step; -1: one of them has moved, or they had none. */
CSIMI_FN int csimi_find_standing(const csimi_detector *d, const csimi_object *a, const csimi_object *b);
CSIMI_FN int csimi_next_standing(const csimi_store *s, int last); /* the next of the same pair, or -1 */
CSIMI_FN void csimi_mark_stirred(csim_world *world, const csimi_step_frame *frame); /* before the commit */
CSIMI_FN bool csimi_stood(const csim_world *w, int slot); /* a rigid body; that has not moved for two steps */
CSIMI_FN bool csimi_repeats(const csim_world *w); /* whether nothing but the state of a world decides a step */
CSIMI_FN void csimi_compare_step(csim_world *world);                 /* after it is done */
CSIMI_FN bool csimi_step_is_known(const csim_world *world, csim_real h); /* it is the last one once more */
#else
#define CSIMI_HAS_STANDING 0
CSIM_INLINE void csimi_index_standing(csimi_detector *d) { (void)d; }
CSIM_INLINE int csimi_find_standing(const csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    return (void)d, (void)a, (void)b, -1;
}
CSIM_INLINE int csimi_next_standing(const csimi_store *s, int last) { return (void)s, (void)last, -1; }
CSIM_INLINE void csimi_mark_stirred(csim_world *world, const csimi_step_frame *frame) {
    (void)world, (void)frame;
}
CSIM_INLINE bool csimi_stood(const csim_world *w, int slot) { return (void)w, (void)slot, false; }
CSIM_INLINE void csimi_compare_step(csim_world *world) { (void)world; }
CSIM_INLINE bool csimi_step_is_known(const csim_world *world, csim_real h) { return (void)world, (void)h, false; }
#endif
/* ---- known.c: islands that stand are passed over */
#if CSIMI_HAS_KNOWN
/* Whether these two were known, and nothing has moved them: their contacts are those they had. */
CSIMI_FN bool csimi_knows_pair(const csim_world *w, int body_a, int body_b);
/* Before rows are made: whose step is known is given. */
CSIMI_FN void csimi_pass_known(csim_world *w, csimi_step_frame *f);
/* Whether a contact of these two belongs to what is passed over: it has no row, and is told as it was. */
CSIMI_FN bool csimi_passes(const csim_world *w, const csimi_step_frame *f, int body_a, int body_b);
/* Before islands are solved, after each, and after all. */
CSIMI_FN void csimi_begin_known(const csim_world *w, csimi_step_frame *f);
CSIMI_FN void csimi_note_known(const csim_world *w, csimi_step_frame *f, int island, const csim_outcome *o);
CSIMI_FN void csimi_tell_known(const csim_world *w, csimi_step_frame *f);
CSIMI_FN void csimi_keep_known(csim_world *w, const csimi_step_frame *f); /* with the commit */
#else
CSIM_INLINE bool csimi_knows_pair(const csim_world *w, int a, int b) { return (void)w, (void)a, (void)b, false; }
CSIM_INLINE void csimi_pass_known(csim_world *w, csimi_step_frame *f) { (void)w, (void)f; }
CSIM_INLINE bool csimi_passes(const csim_world *w, const csimi_step_frame *f, int body_a, int body_b) {
    return (void)w, (void)f, (void)body_a, (void)body_b, false;
}
CSIM_INLINE void csimi_begin_known(const csim_world *w, csimi_step_frame *f) { (void)w, (void)f; }
CSIM_INLINE void csimi_note_known(const csim_world *w, csimi_step_frame *f, int island, const csim_outcome *o) {
    (void)w, (void)f, (void)island, (void)o;
}
CSIM_INLINE void csimi_tell_known(const csim_world *w, csimi_step_frame *f) { (void)w, (void)f; }
CSIM_INLINE void csimi_keep_known(csim_world *w, const csimi_step_frame *f) { (void)w, (void)f; }
#endif
CSIMI_FN int csimi_awake_shapes(const csim_world *world, uint64_t *shape); /* lists those that do not lie in bed */
/* Gap of a found contact in another configuration, whose surfaces are given. */
CSIMI_FN csim_real csimi_gap_at(const csim_world *world, const csimi_state *then, const csimi_state *now,
                                csimi_surfaces *surfaces, const csimi_found_contact *f);
/* ---- still.c: what lies in bed and is touched; sleep.c: falling asleep */
#define CSIMI_AGAIN ((csim_status)-1) /* a step woke somebody: it begins anew */
#ifndef CONDSIM_NO_SLEEP
CSIMI_FN void csimi_still_layout(csimi_detector *d, const csimi_counts *n, csimi_arena *arena);
/* What lies in bed within reach of what is awake, into d->near; returns how much. */
CSIMI_FN int csimi_still_near(csimi_detector *d);
/* Shapes in bed whose boxes meet one grown by so much, and by what is thick in bed: listed, ascending. */
CSIMI_FN int csimi_still_about(const csim_world *world, csim_vec3 lower, csim_vec3 upper, csim_real grow,
                               uint64_t *shape);
/* Whether a contact of these two is none: one of them is asleep, and wakes when the other can push it. */
CSIMI_FN bool csimi_touch_wakes(csimi_detector *d, int body_a, int body_b);
/* After a step that was done: who comes to rest. */
CSIMI_FN void csimi_fall_asleep(csim_world *w, csimi_step_frame *f, csimi_arena *arena);
CSIMI_FN size_t csimi_sleep_scratch(const csimi_counts *n);
#else
CSIM_INLINE void csimi_still_layout(csimi_detector *d, const csimi_counts *n, csimi_arena *arena) {
    (void)d, (void)n, (void)arena;
}
CSIM_INLINE int csimi_still_near(csimi_detector *d) { return (void)d, 0; }
CSIM_INLINE int csimi_still_about(const csim_world *w, csim_vec3 lower, csim_vec3 upper, csim_real grow,
                                  uint64_t *shape) {
    return (void)w, (void)lower, (void)upper, (void)grow, (void)shape, 0;
}
CSIM_INLINE bool csimi_touch_wakes(csimi_detector *d, int a, int b) { return (void)d, (void)a, (void)b, false; }
CSIM_INLINE void csimi_fall_asleep(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    (void)w, (void)f, (void)arena;
}
CSIM_INLINE size_t csimi_sleep_scratch(const csimi_counts *n) { return n ? 0 : 0; }
#endif
/* ---- found.c: ids and records of contacts, filters of pairs */
CSIMI_FN uint64_t csimi_side_key(const csimi_store *s, int slot, uint32_t part); /* names a part of a body */
CSIMI_FN uint64_t csimi_shape_key(const csimi_store *s, const csimi_object *o);
CSIMI_FN uint64_t csimi_point_key(const csimi_store *s, int slot, uint32_t part); /* names a vertex */
CSIMI_FN int csimi_own_shape(const csimi_store *s, int slot, int shape); /* its number in its body, -1: none */
/* What filters and mixing rules are told about two slots and shapes, -1: of a body of nodes. */
CSIMI_FN csim_pair_info csimi_pair_of(const csim_world *world, int a, int shape_a, int b, int shape_b);
/* The pairs that links exclude; whether two bodies may touch by category, group, exclusion and filter. */
CSIMI_FN void csimi_list_excluded(csimi_detector *d, uint64_t *other);
CSIMI_FN bool csimi_may_touch(const csimi_detector *d, int a, int shape_a, int b, int shape_b);
/* The next free record, or null beyond the capacity (it is counted all the same); taken, and begun with zeros. */
CSIMI_FN csimi_found_contact *csimi_take_found(csimi_detector *d, int body_a, int body_b);
CSIMI_FN void csimi_begin_found(const csimi_detector *d, csimi_found_contact *c, uint64_t id);
CSIMI_FN csimi_found_contact *csimi_next_found(csimi_detector *d, int body_a, int body_b, uint64_t id);
CSIM_INLINE csim_real csimi_thickness_of(const csimi_store *s, const csimi_object *o) {
    return csimi_surface_def_of(s, o->body, o->kind == CSIMI_OBJECT_SHAPE ? o->item : -1)->thickness;
}
/* Whether x is inside the bounds of an object, grown by so much. */
CSIMI_FN bool csimi_near(const csimi_detector *d, const csimi_object *b, csim_vec3 x, csim_real grow);
CSIMI_FN csim_geometry csimi_ball(csim_real radius);
CSIMI_FN csimi_place csimi_place_over(const csimi_state *s, const int *node, const csim_real *foot, csim_vec3 meet);
/* ---- shapes.c, points.c, edges.c: what two objects have that can meet */
CSIMI_FN void csimi_collide_shapes(csimi_detector *d, const csimi_object *a, const csimi_object *b,
                                   const csimi_early *early);
/* Of a range of found contacts those that are told again. */
CSIMI_FN void csimi_tell_range(void *context, int begin, int end);
/* The same ahead, into at: how many touches there are; 0 also where they do not fit or are told again. */
CSIMI_FN int csimi_shapes_early(csimi_detector *d, int pair, const csimi_object *a, const csimi_object *b,
                                csim_touch *at, int room);
CSIMI_FN void csimi_collide_points(csimi_detector *d, const csimi_object *a, const csimi_object *b);
CSIMI_FN void csimi_collide_samples(csimi_detector *d, const csimi_object *a, const csimi_object *b);
CSIMI_FN void csimi_collide_edges(csimi_detector *d, const csimi_object *a, const csimi_object *b);
CSIMI_FN void csimi_collide_self(csimi_detector *d, int i); /* a solid with itself */
/* ---- kept.c: rows that stay. */
CSIM_INLINE bool csimi_keeps(const csim_world *w) { /* whether a world has bounded frames */
#ifdef CONDSIM_NO_BOUNDED
    (void)w;
    return false;
#else
    return w->store.capacity.kept > 0 && (w->def.budget > 0 || w->def.solver.solver == CSIM_SOLVER_BOUNDED);
#endif
}
CSIM_INLINE bool csimi_spent(const csim_world *w, const csimi_step_frame *f) { /* the budget */
    return w->def.budget > 0 && f->work >= w->def.budget;
}
/* The first contact of each pair of the last step, by the pair. */
CSIMI_FN void csimi_index_kept(const csim_world *w, csimi_last_table *r, int *next);
/* How far two shapes may move before they are collided again, m. */
CSIMI_FN csim_real csimi_keep_distance(const csimi_store *s, int shape_a, int shape_b);
/* The first contact that two shapes had in the last step, or -1; the others follow it in kept_next. */
CSIMI_FN int csimi_find_kept(const csimi_detector *d, uint64_t pair);
/* Certified steps in a row after which rows are renewed sooner: at once, what is very high would buckle. */
enum { CSIMI_WITHIN_CALM = 12 };
/* Whether neither shape has moved far since they were found; then they are told once more. */
CSIMI_FN bool csimi_keeps_pair(const csimi_detector *d, const csimi_object *a, const csimi_object *b, int first);
/* A contact of the last step, at its gap where the bodies are now. */
CSIMI_FN void csimi_tell_kept(const csimi_detector *d, csimi_found_contact *c, int last);
/* Of more than four contacts of two faces, four; how many are left. distance: that of csimi_keep_distance. */
CSIMI_FN int csimi_keep_four(const csimi_detector *d, csim_touch *t, int count, uint64_t pair, int first,
                             csim_real distance);
/* Found contacts from this one on, of the pair, take over what those of the last step leave. */
CSIMI_FN void csimi_keep_heirs(csimi_detector *d, int from, int first);
/* A contact that was just found begins to be kept. */
CSIMI_FN void csimi_keep_found(csimi_detector *d, csimi_found_contact *c, int shape_a, int shape_b, uint64_t pair);
/* phi of contact i beside the motion of what is given; sets its gap, push and sag. */
CSIMI_FN csim_real csimi_kept_phi(const csim_world *w, csimi_step_frame *f, int i, csim_real restitution,
                                  csim_real approach);
/* ---- narrow.c: two objects whose bounds meet */
CSIMI_FN void csimi_collide_pair(csimi_detector *d, int pair);
CSIMI_FN void csimi_collide_early(csimi_detector *d, int pairs, csimi_arena *arena); /* shapes, by threads */
/* ---- touch.c: cables against cables, edges of sheets, of cables at solids and sheets */
CSIMI_FN void csimi_touch_sheets(csimi_detector *d, const csimi_object *a, const csimi_object *b);
CSIMI_FN void csimi_touch_surface(csimi_detector *d, const csimi_object *cable, const csimi_object *b);
CSIMI_FN void csimi_edges_layout(csimi_edges *e, const csimi_counts *n, csimi_arena *arena);
/* Pairs of edges whose bounds meet, beyond the capacity too; their contacts are found. */
CSIMI_FN int csimi_touch_cables(csimi_detector *d);
/* Between the centrelines of two edges, m. */
CSIMI_FN csim_real csimi_edge_distance(const csimi_state *s, int a, int b);
/* ---- terms.c: what rows of all kinds are made of */
/* n terms, appended to the frame as one side; what is not an unknown goes with its velocity into moved. */
CSIMI_FN csim_side csimi_terms_side(csimi_step_frame *f, int n, const int *block, const csim_real *J, csim_real *moved);
/* Both sides of a row; phi += R (the velocity of what is given). */
CSIMI_FN void csimi_sides(csimi_step_frame *f, const csimi_state *s, const csimi_place *a, csim_vec3 point_a,
                          const csimi_place *b, csim_vec3 point_b, csim_contact *c);
CSIMI_FN csim_vec3 csimi_sides_velocity(const csimi_step_frame *f, const csim_contact *c, const csim_real *v);
CSIMI_FN void csimi_row_velocity(const csimi_step_frame *f, const csim_contact *c, csim_real *u); /* u += R J v_k */
/* Half-step: components first and first + 1 hold at the end of the step. */
CSIMI_FN void csimi_slip_of_the_end(const csimi_step_frame *f, csim_contact *c, int first);
/* phi of a gap that closes at `approach` now and would at `free_end` without contact. */
CSIMI_FN csim_real csimi_phi(const csim_world *w, const csimi_step_frame *f, csim_real gap, csim_real restitution,
                             csim_real approach, csim_real free_end);
/* ---- rows.c: found contacts and joints to rows of the problem, with phi, laws and warm starts */
CSIMI_FN void csimi_rows(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
/* ---- rolling.c: rows that resist rolling, behind those of the contacts; how many there are at most */
#ifndef CONDSIM_NO_JOINTS
CSIMI_FN int csimi_rolling_count(const csim_world *w, const csimi_step_frame *f);
CSIMI_FN void csimi_rolling_rows(const csim_world *w, csimi_step_frame *f);
/* N m s: the most that the couple of a contact does; above 0: it has a row, in the order of the contacts. */
CSIMI_FN csim_real csimi_rolling_bound(const csim_world *w, const csimi_step_frame *f, const csimi_found_contact *c);
#else
CSIM_INLINE int csimi_rolling_count(const csim_world *w, const csimi_step_frame *f) { return (void)w, (void)f, 0; }
CSIM_INLINE void csimi_rolling_rows(const csim_world *w, csimi_step_frame *f) { (void)w, (void)f; }
CSIM_INLINE csim_real csimi_rolling_bound(const csim_world *w, const csimi_step_frame *f,
                                          const csimi_found_contact *c) {
    return (void)w, (void)f, (void)c, CSIM_R(0);
}
#endif
/* ---- joint_sides.c: what rows of joints are made of */
CSIMI_FN bool csimi_link_weighs(const csimi_state *s, const csimi_place *p); /* a free link with mass and inertia */
/* Side of a row from how a rigid body or link turns, times D (3x3). */
CSIMI_FN void csimi_gear_side(csim_world *w, csimi_step_frame *f, const csimi_state *s, const csimi_joint *j, int k,
                              csim_contact *c);
CSIMI_FN void csimi_turn_side(csimi_step_frame *f, const csimi_state *s, const csimi_place *p, const csim_real *D,
                              csim_contact *c, int second);
/* Side of a row from terms on rigid bodies or links. */
CSIMI_FN csim_vec3 csimi_joint_way(const csimi_step_frame *f, const csimi_state *s, const csimi_place *p,
                                   csim_vec3 point);
CSIMI_FN csim_real csimi_turn_scale(const csimi_state *s, const csimi_place *a, const csimi_place *b);
CSIMI_FN void csimi_joint_row_velocity(const csimi_step_frame *f, const csim_contact *c, csim_real *u);
/* ---- axes_rows.c: rows of joints with settings of axes, as those of others in joint_rows.c */
CSIMI_FN void csimi_axes_rows(csim_world *w, csimi_step_frame *f, csimi_joint *j);
/* What a line misses at frame->next, m. */
CSIMI_FN csim_real csimi_axes_miss(const csim_world *w, const csimi_step_frame *f, csimi_axes *ax, int line);
CSIMI_FN void csimi_axes_renew(csim_world *w, csimi_step_frame *f, csimi_axes *ax);
/* The massless coordinates into A. */
CSIMI_FN void csimi_axes_assemble(csim_world *w);
CSIMI_FN void csimi_axes_commit(csim_world *w, const csimi_step_frame *f, csimi_axes *ax);
/* ---- joint_rows.c */
/* Appends the rows of all joints behind those of the contacts. */
CSIMI_FN void csimi_joint_rows(csim_world *world, csimi_step_frame *frame);
/* How joints are closed, by island: what is to be done, how far they are open now and were a pass ago, m, how far
   the last pass turned bodies, rad, and the share of the miss that goes into the rows. Islands begin with rows of the
   start of the step (_ON; midpoint worlds with those of its middle, _TURNED, until turns settle too); where these do
   not close they go on with rows of the middle, late in the loop with those at hand, and where a correction makes it
   worse they go _BACK to the one before. */
enum { CSIMI_AGAIN_NO, CSIMI_AGAIN_ON, CSIMI_AGAIN_TURNED, CSIMI_AGAIN_BACK };
typedef struct csimi_closing {
    unsigned char *again;
    csim_real *miss, *before, *moved, *share;
} csimi_closing;
/* Islands with springs whose directions turn go on with rows of the middle of the step. */
CSIMI_FN void csimi_joints_begin(const csim_world *world, const csimi_step_frame *frame, const csimi_closing *closing);
/* Corrects the rows whose joints do not hold at frame->next. False when nothing is left to do. */
CSIMI_FN bool csimi_joints_correct(csim_world *world, csimi_step_frame *frame, const csimi_closing *closing, bool late);
/* Rows of islands that are _TURNED at frame->next, the middle of the step; in midpoint worlds also their turns. */
CSIMI_FN void csimi_joints_middle(csim_world *world, csimi_step_frame *frame, const unsigned char *again, bool first);
/* Stiffness that the turning of joint forces adds to A. */
CSIMI_FN void csimi_joints_stiffen(csim_world *world, const csimi_step_frame *frame);
/* Before the state is the next one: what joints of trees carried; what springs bore, and which let go. */
CSIMI_FN void csimi_trees_react(csim_world *world, csimi_step_frame *frame, const csimi_step *step);
CSIMI_FN void csimi_springs_commit(csim_world *world, const csimi_step_frame *frame);
CSIMI_FN void csimi_joints_commit(csim_world *world, const csimi_step_frame *frame);
/* ---- tree_rows.c */
/* Which drives are bounded by rows in the coming step; and whether others turned out to need one, which they get. */
CSIMI_FN void csimi_tree_choose_bounds(csim_world *world);
CSIMI_FN void csimi_tree_forget_bounds(csim_world *w);
CSIMI_FN bool csimi_tree_overruns(csim_world *world, const csimi_step_frame *f, const csimi_step *step, int pass);
/* Rows of all joints behind those of contacts and pins; their impulses into link_impulse. */
CSIMI_FN csim_status csimi_tree_rows(csim_world *w, csimi_step_frame *f, const csimi_step *step);
CSIMI_FN void csimi_tree_keep_rows(csim_world *w, const csimi_step_frame *f, const csimi_step *step);
/* ---- rounds.c: which islands there are, and who solves them */
CSIMI_FN csim_status csimi_solve_islands(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
/* The islands that again marks, once more from where they are. */
CSIMI_FN csim_status csimi_solve_again(csim_world *world, csimi_step_frame *frame, const unsigned char *again,
                                       csimi_arena *arena);
/* ---- island.c: each island as a problem of its own, solved and certified */
/* Who solves one: memory, threads (null: none) and where to say what is wrong. */
typedef struct csimi_worker {
    csimi_arena *arena;
    const csim_tasks *tasks;
    csim_error *error;
} csimi_worker;
/* What is to be done of a solve: all, what comes before a bounded frame, this. */
typedef enum csimi_phase { CSIMI_PHASE_WHOLE, CSIMI_PHASE_TRY, CSIMI_PHASE_REST } csimi_phase;
/* What is gathered of one. In worlds with bounded frames also: what its leader keeps; visits reserved for it and those
   done; which bounded frame it gets and its substeps; its push-out, m. */
typedef struct csimi_answer {
    csim_outcome outcome;
    csimi_phase phase; /* in; out: REST where its bounded frame is left to do */
    csimi_pace pace;
    long own, spent;
    int bounded, substeps;
    double pushed;
} csimi_answer;
/* Writes v, rep, lambda, missed and kept of its blocks and contacts. */
CSIMI_FN csim_status csimi_solve_island(const csim_world *world, csimi_step_frame *frame, int island,
                                        csimi_worker *worker, csimi_answer *answer);
/* rest.c: writes solution->v, and the result and certificate of the outcome, where the island rests. */
typedef enum csimi_stillness { CSIMI_ISLAND_MOVES, CSIMI_ISLAND_SLOW, CSIMI_ISLAND_RESTS } csimi_stillness;
CSIMI_FN csimi_stillness csimi_island_rests(const csim_world *world, const csimi_step_frame *frame, const int *block,
                                            const csim_problem *problem, const csim_solver_params *params,
                                            csim_status checked, csim_solution *solution, csimi_arena *arena,
                                            csim_outcome *outcome);
/* One that is slow, by a solve of its own; row: of the problem, which it leaves as they were. */
CSIMI_FN csimi_stillness csimi_island_stand(const csim_world *world, const csimi_step_frame *frame, const int *block,
                                            csim_problem *problem, csim_contact *row,
                                            const csim_solver_params *params, csim_status checked,
                                            csimi_worker *worker, csim_solution *solution, csim_outcome *outcome);
/* Bytes for what solves of an island leave to later ones of the step, where joints are closed by solving again. */
CSIMI_FN size_t csimi_island_shelf(const csimi_counts *n, const csim_solver_params *solver);
CSIMI_FN size_t csimi_island_scratch(const csimi_counts *n, const csim_solver_params *solver);
CSIMI_FN int csimi_island_aggregates(const csimi_step_frame *f, int island); /* how many it has */
/* Coarse groups of the world. */
CSIMI_FN void csimi_aggregates(const csim_world *w, csimi_step_frame *f);
/* What missed the tolerance it was given may meet this one. */
CSIMI_FN void csimi_judge_outcome(csim_outcome *o, csim_real tolerance);
/* ---- within.c: a step within a budget */
/* An island for csimi_within_solve. */
typedef struct csimi_within {
    csim_problem *problem;
    csim_contact *rows;       /* of the problem */
    csim_solution *solution;
    const int *block, *contact; /* [n], [count] in the frame */
    int n, count;
    csim_status checked;
    bool lies; /* at rest, and nothing of what bounded frames left is to be tried to be lifted */
    const unsigned char *rotation; /* [n] */
    csim_real *gap, *pulse, *move; /* [count], [3 count], [3 n] room; move: by which velocity positions go */
    csim_real *phi;                /* [count] of the rows, while a bounded frame has its own */
} csimi_within;
CSIMI_FN void csimi_within_open(const csim_world *w, csimi_step_frame *f);
CSIMI_FN const uint64_t *csimi_within_order(const csimi_step_frame *f, uint64_t *key);
/* Tries to certify an island with what is left of the budget, and decides whether it gets a bounded frame ... */
CSIMI_FN csim_status csimi_within_try(const csim_world *w, const csimi_step_frame *f, csimi_within *c,
                                      csim_solver_params *params, csimi_worker *worker, csimi_answer *answer);
/* ... which it gets here. */
CSIMI_FN csim_status csimi_within_end(const csim_world *w, csimi_step_frame *f, csimi_within *c,
                                      csim_solver_params *params, csimi_worker *worker, csimi_answer *answer);
CSIMI_FN void csimi_within_gather(const csim_world *w, csimi_step_frame *f, int island, const csimi_answer *answer);
/* ---- assemble.c */
CSIMI_FN csim_status csimi_build_pattern(csim_world *world, csimi_arena *arena);
CSIMI_FN void csimi_plan_step(csim_world *world); /* builds it before the first step that needs it. step.c */
CSIMI_FN size_t csimi_pattern_build_scratch(const csimi_counts *n);
CSIMI_FN void csimi_prepare(csim_world *world, csimi_step_frame *frame, const csimi_step *step);
/* A and b from the potentials at a state; frame->b and A are cleared first. */
CSIMI_FN void csimi_assemble(csim_world *world, csimi_step_frame *frame, const csimi_step *step, const csimi_state *at);
CSIMI_FN csimi_energy csimi_energy_of(const csimi_state *s);
/* Positions of next: those of the world moved on by h v. */
CSIMI_FN void csimi_advance(csim_world *world, const csimi_step *step, csim_real h, const csim_real *v,
                            csimi_state *next);
/* ---- variational.c */
CSIM_INLINE bool csimi_is_middle(const csim_world *w) { /* v = (v_k + v_{k+1})/2 */
    return w->def.integrator == CSIM_MIDPOINT || w->def.integrator == CSIM_HALF_STEP;
}
/* Two-step: frame->drift by half a step; exchanges the positions of the world with those of frame->drift. */
CSIMI_FN void csimi_go_ahead(csim_world *world, csimi_step_frame *frame, const csimi_step *step);
CSIMI_FN void csimi_exchange(csim_world *world, csimi_step_frame *frame);
/* Half-step: A and b about the velocity v of the step; v may be frame->v. */
CSIMI_FN void csimi_linearise(csim_world *world, csimi_step_frame *frame, const csimi_step *step, const csim_real *v);
/* ||A v - b - J'lambda|| in the measure of certificate.dynamics, with A and b as they are now. */
CSIMI_FN void csimi_pushes(const csimi_step_frame *f, csim_real *pushed);
CSIMI_FN double csimi_imbalance(const csim_world *world, csimi_step_frame *frame);
/* ---- curl.c: islands of cables that turn far in a step */
typedef struct csimi_curl {
    unsigned char *on;       /* [islands] 1: is solved once more */
    csim_real *most, *share; /* [islands] most turn beside v*, rad; how far v* follows the solution */
    double *begin, *slope;   /* [islands] of the potential along that way */
} csimi_curl;
#ifndef CONDSIM_NO_CABLE
CSIMI_FN void csimi_curl_begin(const csim_world *world, const csimi_step_frame *frame, csimi_curl *curl,
                               csimi_arena *arena);
/* Whether islands are to be solved once more, with A and b of where they lead. */
CSIMI_FN bool csimi_cables_curl(csim_world *world, csimi_step_frame *frame, const csimi_step *step, csimi_curl *curl,
                                int pass);
CSIMI_FN size_t csimi_curl_scratch(const csimi_counts *n);
#else
CSIM_INLINE void csimi_curl_begin(const csim_world *w, const csimi_step_frame *f, csimi_curl *c, csimi_arena *arena) {
    (void)w, (void)f, (void)arena;
    c->on = NULL;
}
CSIM_INLINE size_t csimi_curl_scratch(const csimi_counts *n) { return n ? 0 : 0; }
#endif
/* ---- path.c */
/* Stops poses of frame->next, of bodies and nodes, where their true paths, of h at the velocities of the step, lead
   into what they did not know of. */
#ifndef CONDSIM_NO_PATHS
CSIMI_FN void csimi_hold_paths(csim_world *world, csimi_step_frame *frame, csim_real h, csimi_arena *arena);
CSIMI_FN size_t csimi_path_scratch(const csimi_counts *n);
#else
CSIM_INLINE void csimi_hold_paths(csim_world *w, csimi_step_frame *f, csim_real h, csimi_arena *arena) {
    (void)w, (void)f, (void)h, (void)arena;
}
CSIM_INLINE size_t csimi_path_scratch(const csimi_counts *n) { return n ? 0 : 0; }
#endif
/* ---- unseen.c: for paths and for statistics; a build without both does not look */
#if !defined(CONDSIM_NO_PATHS) || !defined(CONDSIM_NO_STATISTICS)
CSIMI_FN csim_real csimi_path_slack(const csim_world *world); /* m: what ways may lead shapes into each other */
/* Looks at shapes and nodes where they are after the step; sets frame->driven, stats.penetration and unseen. */
CSIMI_FN void csimi_look_unseen(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
CSIMI_FN size_t csimi_unseen_scratch(const csimi_counts *n);
#else
CSIM_INLINE void csimi_look_unseen(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    (void)w, (void)f, (void)arena;
}
CSIM_INLINE size_t csimi_unseen_scratch(const csimi_counts *n) { return n ? 0 : 0; }
#endif
/* ---- measure.c */
CSIMI_FN void csimi_measure(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
CSIMI_FN void csimi_note_told(const csim_world *w, csimi_step_frame *f); /* before islands are solved */
CSIMI_FN void csimi_report_contacts(csim_world *world, csimi_step_frame *frame);
/* ---- sense.c, touching.c, tell.c */
CSIMI_FN void csimi_sense_pair(csimi_detector *d, const csimi_object *sensor, const csimi_object *other);
/* Up to which distance shapes begin to touch; and go on with it. */
CSIM_INLINE csim_real csimi_touch_on(const csim_world *w) {
    return csimi_min(w->def.touch_distance, w->def.contact_distance / 2);
}
CSIM_INLINE csim_real csimi_touch_off(const csim_world *w) { return 2 * csimi_touch_on(w); }
CSIMI_FN size_t csimi_encounters_scratch(const csimi_counts *n);
/* Which shapes touch, once contacts have been reported; stays in the arena until the commit. */
CSIMI_FN csim_status csimi_find_touching(csim_world *world, csimi_step_frame *frame, csimi_arena *arena);
/* The pointer that a body has, or `gone` when it is no more. */
CSIMI_FN void *csimi_told_user_data(const csim_world *world, csim_body_id id, void *gone);
CSIMI_FN void *csimi_told_shape_data(const csim_world *world, csim_body_id id, int shape, void *gone);
CSIMI_FN void csimi_mark_moved(const csim_world *world, csimi_step_frame *frame); /* before the state is committed */
CSIMI_FN void csimi_tell_step(csim_world *world, const csimi_step_frame *frame);  /* the rest, after it */
/* After csimi_tell_step: a body fell asleep (bodies of one island have its number) or woke (-1: by itself); a joint
   broke, by the slot of its link (those whose `broke` is set are told without it). */
CSIMI_FN void csimi_tell_sleep(csim_world *world, int slot, bool asleep, int island);
CSIMI_FN void csimi_tell_break(csim_world *world, int link);

/* ---- step.c */
/* Scratch that a step of a world with these capacities can need. */
CSIMI_FN size_t csimi_step_scratch(const csimi_counts *capacity, const csim_solver_params *solver);

#endif

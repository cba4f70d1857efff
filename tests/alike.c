/* alike: every scene's world, hashed as it is made and after some steps. Two builds of this program that print the same
   lines make the same scenes to the last bit: tests/audit.sh alike, with two compilers and in WebAssembly. Scenes take
   their sines from own_math.h, which is included before this. */
#include "examples/live/library.c"
#include "examples/scenes/all.h"

enum { ALIKE_STEPS = 5, ALIKE_SIZE = 100 };

int main(void) {
    int i, k, failed = 0;
    for (i = 0; i < scene_count(); i++) {
        const scene_kind *kind = scene_kind_at(i);
        scene_options o = scene_default_options();
        const scene_key *key = kind->keys;
        char why[SCENE_TEXT] = "";
        scene *s;
        for (; key && key->name; key++)
            if (strcmp(key->name, "urdf") == 0) scene_set(&o, "urdf=none"); /* a file that some have */
        if (kind->size > ALIKE_SIZE) o.size = ALIKE_SIZE;
        s = scene_open(kind->name, &o, why, sizeof why);
        if (s) printf("%s %016llx", kind->name, (unsigned long long)csim_world_hash(s->world));
        for (k = 0; s && k < ALIKE_STEPS && scene_step(s); k++) continue;
        if (s && k == ALIKE_STEPS)
            printf(" %016llx\n", (unsigned long long)csim_world_hash(s->world));
        else
            printf("%s fails: %s\n", kind->name, s ? s->error : why), failed = 1;
        if (s) scene_close(s);
    }
    return failed;
}

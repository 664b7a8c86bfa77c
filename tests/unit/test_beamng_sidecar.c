/*
 * The .terrain.json beside a terrain: its list of materials follows the palette, every other byte
 * stays, and one that is strange or absent is left alone. On real files, through whole saves.
 */
#include "scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/ter_maker.h"
#include "formats/beamng/beamng.h"
#include "formats/beamng/sidecar.h"

/* ---- texts ----------------------------------------------------------------------------------- */

/* A name table out of names, each ended by a line feed. */
static void make_table(const char *names, struct tfs_buf *table)
{
    uint32_t count = 0;

    for (const char *at = names; *at != '\0'; at++)
        count += *at == '\n';
    tfs_buf_u32le(table, count);
    while (*names != '\0') {
        size_t length = strcspn(names, "\n");
        tfs_beamng_name_add(table, (struct tfs_span){(const uint8_t *)names, length}, false);
        names += length + 1;
    }
}

static enum tfs_beamng_sidecar_state compare(struct tfs_span json, struct tfs_beamng_names names)
{
    enum tfs_beamng_sidecar_state state;

    ck_assert_int_eq(tfs_beamng_sidecar_compare(json, names, &state), 0);
    return state;
}

struct rewrite {
    const char *json, *names;
    const char *wanted; /* NULL: is left alone */
};

static const struct rewrite rewrites[] = {
    /* one line, as the oldest writer has it */
    {"{ \"materials\" : [ \"Grass\", \"Rock\" ] }\n", "Grass\n\"q\"\\\n\xff\n",
     "{ \"materials\" : [ \"Grass\", \"\\\"q\\\"\\\\\", \"\xef\xbf\xbd\" ] }\n"},
    /* a line each */
    {"{\n \"a\": 1,\n \"materials\": [\n   \"Grass\",\n   \"Rock\"\n ],\n \"size\": 2\n}",
     "a\nb\nc\n",
     "{\n \"a\": 1,\n \"materials\": [\n   \"a\",\n   \"b\",\n   \"c\"\n ],\n \"size\": 2\n}"},
    /* one element: the others are spelt as it */
    {"{\"materials\":[ \"x\"]}", "a\nb\n", "{\"materials\":[ \"a\", \"b\"]}"},
    {"{\"materials\":[\"x\",\"y\"]}", "a\nb\n", "{\"materials\":[\"a\",\"b\"]}"},
    /* from nothing, and to nothing */
    {"{\"materials\":[ ]}", "a\nb\n", "{\"materials\":[\n    \"a\",\n    \"b\"\n  ]}"},
    {"{\"materials\": [\n  \"x\"\n]}", "", "{\"materials\": []}"},
    /* what is escaped */
    {"{\"materials\":[]}", "\b\f\r\t\x01/\xc3\xa4\x7f\n",
     "{\"materials\":[\n    \"\\b\\f\\r\\t\\u0001/\xc3\xa4\x7f\"\n  ]}"},
    /* only the outermost key counts, and in plain letters */
    {"{\"x\":{\"materials\":[1]},\"a\":\"materials\",\"materials\" :[\"a\"],"
     "\"y\":[[\"materials\"]]}",
     "b\n",
     "{\"x\":{\"materials\":[1]},\"a\":\"materials\",\"materials\" :[\"b\"],"
     "\"y\":[[\"materials\"]]}"},
    {"{\"mate\\u0072ials\":[\"a\"]}", "b\n", NULL},
    /* all of JSON may stand beside it */
    {" {\"n\":[-0.5e+7,0,12E3,true,false,null,{},[ ],\"\\ud83d\\ude00\"],\"materials\":[]} ", "a\n",
     " {\"n\":[-0.5e+7,0,12E3,true,false,null,{},[ ],\"\\ud83d\\ude00\"],\"materials\":[\n    "
     "\"a\"\n  ]} "},
    /* not JSON, or no list of strings */
    {"", "a\n", NULL},
    {"[\"a\"]", "a\n", NULL},
    {"{}", "a\n", NULL},
    {"{\"materials\":[\"x\"]", "a\n", NULL},
    {"{\"materials\":[\"x\"]} x", "a\n", NULL},
    {"{\"materials\":[\"x\",]}", "a\n", NULL},
    {"{\"materials\":[\"x\" \"y\"]}", "a\n", NULL},
    {"{\"materials\":[\"x\",1]}", "a\n", NULL},
    {"{\"materials\":\"x\"}", "a\n", NULL},
    {"{\"materials\":{}}", "a\n", NULL},
    {"{\"materials\":[\"x\"],\"materials\":[\"y\"]}", "a\n", NULL},
    {"{\"materials\":[\"x\\q\"]}", "a\n", NULL},
    {"{\"materials\":[\"x\\u12g4\"]}", "a\n", NULL},
    {"{\"materials\":[\"x\ny\"]}", "a\n", NULL},
    {"{\"materials\":[\"x\"],\"n\":01}", "a\n", NULL},
    {"{\"materials\":[\"x\"],\"n\":1.}", "a\n", NULL},
    {"{\"materials\":[\"x\"],\"n\":nul}", "a\n", NULL},
    {"{materials:[\"x\"]}", "a\n", NULL},
    {"{\"materials\"", "a\n", NULL},
    {"{\"materials\":", "a\n", NULL},
};

START_TEST(sidecar_list_takes_new_names_in_its_own_spelling)
{
    const struct rewrite *r = &rewrites[_i];
    struct tfs_buf table = {0}, out = {0};

    make_table(r->names, &table);
    struct tfs_beamng_names names = tfs_beamng_names_init(tfs_buf_span(&table), false);
    if (r->wanted != NULL) {
        ck_assert_int_eq(compare(tfs_span_of(r->json), names), TFS_BEAMNG_SIDECAR_DIFFERS);
        tfs_beamng_sidecar_rewrite(tfs_span_of(r->json), names, &out);
        ck_assert_msg(tfs_span_equal(tfs_buf_span(&out), tfs_span_of(r->wanted)), "%.*s",
                      (int)out.size, (const char *)out.data);
        ck_assert_int_eq(compare(tfs_buf_span(&out), names), TFS_BEAMNG_SIDECAR_AGREES);
    } else {
        ck_assert_int_eq(compare(tfs_span_of(r->json), names), TFS_BEAMNG_SIDECAR_DAMAGED);
    }
    tfs_buf_release(&table);
    tfs_buf_release(&out);
}
END_TEST

START_TEST(sidecar_agrees_when_it_says_the_same_names_however_spelt)
{
    static const struct {
        const char *json, *names;
        enum tfs_beamng_sidecar_state state;
    } cases[] = {
        {"{\"materials\":[\"Gr\\u0061ss\",\"\\/\"]}", "Grass\n/\n", TFS_BEAMNG_SIDECAR_AGREES},
        {"{\"materials\":[\"\\ud83d\\ude00\"]}", "\xf0\x9f\x98\x80\n", TFS_BEAMNG_SIDECAR_AGREES},
        {"{\"materials\":[\"\xef\xbf\xbd\"]}", "\xff\n", TFS_BEAMNG_SIDECAR_AGREES},
        {"{\"materials\":[]}", "", TFS_BEAMNG_SIDECAR_AGREES},
        {"{\"materials\":[\"a\"]}", "a\nb\n", TFS_BEAMNG_SIDECAR_DIFFERS},
        {"{\"materials\":[\"a\",\"b\"]}", "a\n", TFS_BEAMNG_SIDECAR_DIFFERS},
        {"{\"materials\":[\"b\",\"a\"]}", "a\nb\n", TFS_BEAMNG_SIDECAR_DIFFERS},
        {"{\"materials\":[\"A\"]}", "a\n", TFS_BEAMNG_SIDECAR_DIFFERS},
    };
    struct tfs_buf table = {0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tfs_buf_clear(&table);
        make_table(cases[i].names, &table);
        struct tfs_beamng_names names = tfs_beamng_names_init(tfs_buf_span(&table), false);
        ck_assert_msg(compare(tfs_span_of(cases[i].json), names) == cases[i].state, "%s",
                      cases[i].json);
    }
    tfs_buf_release(&table);
}
END_TEST

START_TEST(sidecar_of_a_save_has_its_name_with_another_ending)
{
    char *path = tfs_beamng_sidecar_path("/levels/a.b/theTerrain.ter");

    ck_assert_str_eq(path, "/levels/a.b/theTerrain.terrain.json");
    free(path);
    path = tfs_beamng_sidecar_path("T.TER");
    ck_assert_str_eq(path, "T.terrain.json");
    free(path);
    ck_assert_ptr_null(tfs_beamng_sidecar_path("/levels/terrain.dat"));
    ck_assert_ptr_null(tfs_beamng_sidecar_path("ter"));
}
END_TEST

/* ---- saves on disk --------------------------------------------------------------------------- */

static char dir[64], ter[128], json[128];

static void make_dir(void)
{
    strcpy(dir, "/tmp/tfs-sidecar-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(ter, sizeof(ter), "%s/t.ter", dir);
    snprintf(json, sizeof(json), "%s/t.terrain.json", dir);
}

static void remove_dir(void)
{
    unlink(ter);
    unlink(json);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing else was left there */
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
}

static void check_bytes(const char *path, const char *wanted)
{
    char got[4096];
    FILE *f = fopen(path, "rb");

    ck_assert_ptr_nonnull(f);
    size_t size = fread(got, 1, sizeof(got) - 1, f);
    fclose(f);
    got[size] = '\0';
    ck_assert_str_eq(got, wanted);
}

static void write_ter(uint8_t version)
{
    struct ter_world world = {version, version == 8 ? TER_CORNERS : TER_PLAIN, false, 4, 1, 2};
    struct maker_bytes b = {0};

    ter_make(&b, &world);
    write_bytes(ter, b.data, b.size);
    maker_release(&b);
}

static struct tfs_save *open_save(void)
{
    struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE};
    struct tfs_error err = {0};
    struct tfs_save *save = NULL;

    ck_assert_msg(tfs_save_open(ter, NULL, &options, &save, &err) == 0, "%s", err.text);
    return save;
}

/* Puts root file `file` of the tree and commits. */
static int put_and_commit(struct tfs_save *save, unsigned file, const char *text,
                          struct tfs_error *err)
{
    struct tfs_edit edit;
    struct tfs_put put = {0};
    const struct tfs_lens *lens = save->tree->root.files[file].lens;
    struct tfs_at at = tfs_lens_at(lens, (struct tfs_key){0}, 0);

    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, err), 0);
    ck_assert_int_eq(lens->put(save, &edit, at, tfs_span_of(text), &put, err), 0);
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    int result = save->container->commit(save, doc, err);
    tfs_doc_unref(doc);
    tfs_edit_release(&edit);
    return result;
}

static void check_info(struct tfs_save *save, const char *line)
{
    const struct tfs_lens *lens = save->tree->root.files[0].lens;
    struct tfs_at at = tfs_lens_at(lens, (struct tfs_key){0}, 0);
    struct tfs_buf info = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(lens->get(save, save->doc, at, &info, &err), 0);
    tfs_buf_u8(&info, '\0');
    ck_assert_msg(strstr((const char *)info.data, line) != NULL, "no '%s' in:\n%s", line,
                  (const char *)info.data);
    tfs_buf_release(&info);
}

#define PALETTE 1

START_TEST(sidecar_follows_the_palette_when_the_terrain_is_saved)
{
    static const char old[] = "{\"a\":[1, 2],\n \"materials\": [ \"Grass\", \"DirtRoad\" ] }\n";
    struct tfs_error err = {0};

    make_dir();
    write_ter(9);
    write_bytes(json, old, sizeof(old) - 1);
    ck_assert_int_eq(chmod(json, 0640), 0);
    struct tfs_save *save = open_save();
    check_info(save, "sidecar: agrees\n");
    ck_assert_ptr_null(tfs_facts_find(save->doc->facts, TFS_NOTE_WARNING));
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Grass\n1 Snow\n2 Ice\n", &err), 0);
    check_bytes(json, "{\"a\":[1, 2],\n \"materials\": [ \"Grass\", \"Snow\", \"Ice\" ] }\n");
    check_info(save, "sidecar: agrees\n");
    struct stat st;
    ck_assert_int_eq(stat(json, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0640);
    tfs_save_close(save);
    save = open_save();
    check_info(save, "materials: 3\n");
    check_info(save, "sidecar: agrees\n");
    tfs_save_close(save);
    remove_dir();
}
END_TEST

/* Palette edits that change no name, and stale sidecars. */
START_TEST(sidecar_that_differs_is_told_and_left_alone_until_a_name_changes)
{
    static const char old[] = "{\"materials\":[\"Old\"]}";
    struct tfs_error err = {0};

    make_dir();
    write_ter(9);
    write_bytes(json, old, sizeof(old) - 1);
    struct tfs_save *save = open_save();
    check_info(save, "sidecar: differs");
    ck_assert_ptr_nonnull(
        strstr(tfs_facts_find(save->doc->facts, TFS_NOTE_WARNING), "other materials"));
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Gr\\x61ss\n1 DirtRoad\n", &err), 0);
    check_bytes(json, old);
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Grass\n1 Mud\n", &err), 0);
    check_bytes(json, "{\"materials\":[\"Grass\",\"Mud\"]}");
    check_info(save, "sidecar: agrees\n");
    tfs_save_close(save);
    remove_dir();
}
END_TEST

START_TEST(sidecar_that_is_absent_or_damaged_is_not_made_or_touched)
{
    struct tfs_error err = {0};

    make_dir();
    write_ter(9);
    struct tfs_save *save = open_save();
    check_info(save, "sidecar: absent\n");
    ck_assert_ptr_nonnull(
        strstr(tfs_facts_find(save->doc->facts, TFS_NOTE_WARNING), "no .terrain"));
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Grass\n1 Mud\n", &err), 0);
    ck_assert_int_eq(access(json, F_OK), -1);
    tfs_save_close(save);

    write_bytes(json, "{\"materials\":[1]}", 17);
    save = open_save();
    check_info(save, "sidecar: damaged");
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Grass\n1 Moss\n", &err), 0);
    check_bytes(json, "{\"materials\":[1]}");
    tfs_save_close(save);
    unlink(json);

    write_ter(7); /* Torque3D has none */
    save = open_save();
    ck_assert_ptr_null(tfs_facts_find(save->doc->facts, TFS_NOTE_WARNING));
    tfs_save_close(save);
    remove_dir();
}
END_TEST

START_TEST(sidecar_behind_a_link_is_not_followed)
{
    struct tfs_error err = {0};
    char target[2] = {0};

    make_dir();
    write_ter(9);
    ck_assert_int_eq(symlink("x", json), 0);
    struct tfs_save *save = open_save();
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Grass\n1 Mud\n", &err), 0);
    ck_assert_int_eq((int)readlink(json, target, 1), 1);
    ck_assert_str_eq(target, "x");
    tfs_save_close(save);
    remove_dir();
}
END_TEST

START_TEST(sidecar_that_a_killed_process_did_not_finish_goes_at_the_next_mount)
{
    char stray[192];

    make_dir();
    write_ter(9);
    snprintf(stray, sizeof(stray), "%s/.t.terrain.json.terrainfs-aB3xYz", dir);
    write_bytes(stray, "{", 1);
    struct tfs_open_options reading = {.lock = TFS_LOCK_NONE};
    struct tfs_error err = {0};
    struct tfs_save *save = NULL;
    ck_assert_int_eq(tfs_save_open(ter, NULL, &reading, &save, &err), 0);
    tfs_save_close(save);
    ck_assert_int_eq(access(stray, F_OK), 0);
    tfs_save_close(open_save());
    remove_dir();
}
END_TEST

#define OLD_NAMES "{ \"materials\": [ \"Grass\", \"DirtRoad\" ] }\n"
#define NEW_NAMES "{ \"materials\": [ \"Grass\", \"Snow\" ] }\n"

static int dies_at_rename; /* the n-th from now on; 0: none */

/* Takes the place of the C library's, for the whole program. */
int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    if (dies_at_rename > 0 && --dies_at_rename == 0)
        raise(SIGKILL);
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

/* What the child did to the terrain is done, and nothing more. */
static int commit_and_die(struct tfs_save *save)
{
    struct tfs_error err = {0};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        dies_at_rename = 2;
        put_and_commit(save, PALETTE, "0 Grass\n1 Snow\n", &err);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

START_TEST(sidecar_follows_when_a_process_was_killed_before_it_did)
{
    make_dir();
    write_ter(9);
    write_bytes(json, OLD_NAMES, sizeof(OLD_NAMES) - 1);
    struct tfs_save *save = open_save();
    ck_assert_int_eq(commit_and_die(save), SIGKILL);
    tfs_save_close(save);
    check_bytes(json, OLD_NAMES);
    save = open_save();
    check_info(save, "sidecar: agrees\n");
    ck_assert_ptr_null(tfs_facts_find(save->doc->facts, TFS_NOTE_WARNING));
    tfs_save_close(save);
    check_bytes(json, NEW_NAMES);
    remove_dir();
}
END_TEST

START_TEST(sidecar_of_a_terrain_that_was_not_saved_does_not_follow)
{
    char stray[192];

    make_dir();
    write_ter(9);
    write_bytes(json, "{ \"materials\": [ \"Another\" ] }\n", 31);
    snprintf(stray, sizeof(stray), "%s/.t.terrain.json.terrainfs-aB3xYz", dir);
    write_bytes(stray, NEW_NAMES, sizeof(NEW_NAMES) - 1);
    struct tfs_save *save = open_save();
    check_info(save, "sidecar: differs");
    tfs_save_close(save);
    check_bytes(json, "{ \"materials\": [ \"Another\" ] }\n");
    remove_dir();
}
END_TEST

START_TEST(sidecar_that_cannot_be_written_is_told_and_the_terrain_is_saved)
{
    static char old[100000] = "{\"materials\":[\"Grass\",\"DirtRoad\"]}";
    struct tfs_error err = {0};

    memset(old + strlen(old), ' ', sizeof(old) - strlen(old));
    make_dir();
    write_ter(9);
    write_bytes(json, old, sizeof(old));
    struct tfs_save *save = open_save();
    scratch_limit_files(sizeof(old) / 2);
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Grass\n1 Mud\n2 Ice\n", &err), -EDQUOT);
    scratch_limit_files(RLIM_INFINITY);
    ck_assert_ptr_nonnull(strstr(err.text, "the terrain is saved, but not the list of materials in "
                                           "t.terrain.json"));
    check_info(save, "sidecar: differs");
    tfs_save_close(save);
    save = open_save();
    check_info(save, "materials: 3\n");
    tfs_save_close(save);
    remove_dir();
}
END_TEST

START_TEST(sidecar_that_could_not_be_written_is_written_by_the_next_commit)
{
    static char old[100000] = "{\"materials\":[\"Grass\",\"DirtRoad\"]}";
    struct tfs_error err = {0};

    memset(old + strlen(old), ' ', sizeof(old) - strlen(old));
    make_dir();
    write_ter(9);
    write_bytes(json, old, sizeof(old));
    struct tfs_save *save = open_save();
    scratch_limit_files(sizeof(old) / 2);
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Grass\n1 Mud\n", &err), -EDQUOT);
    scratch_limit_files(RLIM_INFINITY);
    tfs_error_reset(&err);
    ck_assert_int_eq(put_and_commit(save, PALETTE, "0 Grass\n1 Mud\n", &err), 0);
    check_info(save, "sidecar: agrees");
    tfs_save_close(save);
    remove_dir();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("beamng_sidecar");

    TCase *t = unit_case(s, "text");
    tcase_add_loop_test(t, sidecar_list_takes_new_names_in_its_own_spelling, 0,
                        sizeof(rewrites) / sizeof(rewrites[0]));
    tcase_add_test(t, sidecar_agrees_when_it_says_the_same_names_however_spelt);
    tcase_add_test(t, sidecar_of_a_save_has_its_name_with_another_ending);

    t = unit_case(s, "save");
    tcase_add_test(t, sidecar_follows_the_palette_when_the_terrain_is_saved);
    tcase_add_test(t, sidecar_that_differs_is_told_and_left_alone_until_a_name_changes);
    tcase_add_test(t, sidecar_that_is_absent_or_damaged_is_not_made_or_touched);
    tcase_add_test(t, sidecar_behind_a_link_is_not_followed);
    tcase_add_test(t, sidecar_that_a_killed_process_did_not_finish_goes_at_the_next_mount);
    tcase_add_test(t, sidecar_follows_when_a_process_was_killed_before_it_did);
    tcase_add_test(t, sidecar_of_a_terrain_that_was_not_saved_does_not_follow);
    tcase_add_test(t, sidecar_that_cannot_be_written_is_told_and_the_terrain_is_saved);
    tcase_add_test(t, sidecar_that_could_not_be_written_is_written_by_the_next_commit);
    return s;
}

UNIT_MAIN(suite)

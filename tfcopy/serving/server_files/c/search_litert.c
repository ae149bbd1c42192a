/* Searches by an export's programs of LiteRT, with no Python and no TensorFlow.
 *
 * A text a line in, an answer a line out, words between blanks: what the
 * tokenizer "space" does. Any other tokenizer, and its lower case, is the
 * caller's to run: on the texts before, and on the answers after. It reads
 *
 *   assets/source_vocabulary.txt  a word a line, whose id is the number of
 *   assets/target_vocabulary.txt  lines before it
 *   assets.extra/tfcopy.json      their sizes, the checksum of the programs,
 *                                 and what else was exported
 *   assets.extra/search.tflite    programs `free_1xS`, of S positions:
 *
 *     ids       int32 (1, S)      of the source vocabulary; EOS, then PAD
 *     copy_ids  int32 (1, S)      of the target vocabulary, of V words, or V +
 *                                 the first position of another word; then -1
 *     -> ids    int32 (1, 1, L)   such ids as copied; EOS, then PAD
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "litert.h"

static const char kHelp[] =
    "usage: search_litert EXPORT < TEXTS > ANSWERS\n"
    "\n"
    "Answers each line of standard input with one line, by the programs of\n"
    "LiteRT. EXPORT is the folder of one version of a model that was exported\n"
    "with litert=int8 or litert=float32. Texts are words between blanks, as of\n"
    "the tokenizer \"space\": run any other before, and undo it after.\n";

enum { kPad, kUnk, kBos, kEos, kNumSpecials, kNoCopy = -1, kMostArrays = 8 };

static int user_stderr = 2;
static char path[4096]; /* Of the last file that was opened: the programs. */

__attribute__((noreturn, format(printf, 2, 3))) static void Fail(
    const char* about, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  dprintf(user_stderr, "search_litert: %s: ", about);
  vdprintf(user_stderr, format, arguments);
  dprintf(user_stderr, "\n");
  exit(1);
}

static void Check(LiteRtStatus status, const char* call) {
  if (status == kLiteRtStatusOk) return;
  const char* name = strstr(call, "LiteRt");
  Fail(path, "%.*s: status %d", (int)strcspn(name, "("), name, (int)status);
}
#define TRY(call) Check(call, #call)

static void* Allocated(size_t size) {
  void* memory = calloc(size + 1, 1);
  if (!memory) Fail("memory", "%s", strerror(errno));
  return memory;
}

/* Files. */

typedef struct {
  const char* bytes;
  size_t size;
} Bytes;

/* A file of the export, mapped until the end. */
static Bytes Mapped(const char* folder, const char* name) {
  struct stat about = {0};
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
    Fail(folder, "%s", strerror(ENAMETOOLONG));
  }
  const int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &about)) Fail(path, "%s", strerror(errno));
  Bytes bytes = {"", (size_t)about.st_size};
  if (bytes.size) {
    bytes.bytes = mmap(NULL, bytes.size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes.bytes == MAP_FAILED) Fail(path, "%s", strerror(errno));
  }
  close(file);
  return bytes;
}

/* The value of a key of tfcopy.json, or "". Texts have their quotation marks
 * escaped, and so no keys. */
static const char* Value(const char* json, const char* key) {
  char quoted[64];
  const int size = snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* found = strstr(json, quoted);
  return found ? found + size : "";
}

static char* ReadConfig(const char* folder) {
  static const char* const expected[][2] = {
      {"replace_unk", "false"}, {"dictionary_size", "0"}, {"entities", "null"}};
  const Bytes file = Mapped(folder, "assets.extra/tfcopy.json");
  char* json = memcpy(Allocated(file.size), file.bytes, file.size);
  for (int i = 0; i < 3; i++) {
    const char* value = Value(json, expected[i][0]);
    if (*value && strncmp(value, expected[i][1], strlen(expected[i][1]))) {
      Fail(path, "has %s, which this program cannot do", expected[i][0]);
    }
  }
  if (atoi(Value(json, "max_source_length")) < 1) Fail(path, "is damaged");
  return json;
}

/* SHA-256 (FIPS 180-4). */

static uint32_t Rotated(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void AddBlock(uint32_t sums[8], const uint8_t* block) {
  static const uint32_t constants[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
      0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
      0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
      0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
      0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
      0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
      0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
      0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t words[64], x[8];
  memcpy(x, sums, sizeof x);
  for (int i = 0; i < 64; i++) {
    if (i < 16) {
      const uint8_t* of = block + 4 * i;
      words[i] = (uint32_t)of[0] << 24 | of[1] << 16 | of[2] << 8 | of[3];
    } else {
      const uint32_t a = words[i - 15], b = words[i - 2];
      words[i] = words[i - 16] + words[i - 7] +
                 (Rotated(a, 7) ^ Rotated(a, 18) ^ a >> 3) +
                 (Rotated(b, 17) ^ Rotated(b, 19) ^ b >> 10);
    }
    const uint32_t a = x[0], e = x[4];
    const uint32_t more = x[7] + constants[i] + words[i] +
                          (Rotated(e, 6) ^ Rotated(e, 11) ^ Rotated(e, 25)) +
                          ((e & x[5]) ^ (~e & x[6]));
    const uint32_t first = (Rotated(a, 2) ^ Rotated(a, 13) ^ Rotated(a, 22)) +
                           ((a & x[1]) ^ (a & x[2]) ^ (x[1] & x[2]));
    memmove(x + 1, x, 7 * sizeof *x);
    x[0] = more + first;
    x[4] += more;
  }
  for (int i = 0; i < 8; i++) sums[i] += x[i];
}

/* Writes the checksum of a file, in hexadecimal. */
static void Checksum(Bytes of, char text[65]) {
  uint32_t sums[8] = {
      0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
      0x1f83d9ab, 0x5be0cd19};
  uint8_t last[128] = {0};
  const size_t rest = of.size % 64, room = rest < 56 ? 64 : 128;
  for (size_t i = 0; i + 64 <= of.size; i += 64) {
    AddBlock(sums, (const uint8_t*)of.bytes + i);
  }
  memcpy(last, of.bytes + of.size - rest, rest);
  last[rest] = 0x80;
  for (size_t i = 0; i < 8; i++) {
    last[room - 1 - i] = (uint8_t)((uint64_t)of.size * 8 >> 8 * i);
  }
  for (size_t i = 0; i < room; i += 64) AddBlock(sums, last + i);
  for (int i = 0; i < 8; i++) sprintf(text + 8 * i, "%08x", sums[i]);
}

/* Words. */

typedef struct {
  const char* bytes;
  size_t size;
  int id;
} Word;

typedef struct {
  Word* words;  /* By their ids. */
  Word* sorted; /* Without the special ones: text has none of these. */
  int size;
} Vocabulary;

static int Compare(const void* a, const void* b) {
  const Word *x = a, *y = b;
  const size_t shorter = x->size < y->size ? x->size : y->size;
  const int order = memcmp(x->bytes, y->bytes, shorter);
  return order ? order : (x->size > y->size) - (x->size < y->size);
}

static Vocabulary ReadVocabulary(const char* folder, const char* json,
                                 const char* side) {
  static const char specials[] = "<pad>\n<unk>\n<s>\n</s>\n";
  char file[64], key[64];
  snprintf(file, sizeof file, "assets/%s_vocabulary.txt", side);
  snprintf(key, sizeof key, "%s_vocabulary_size", side);
  const Bytes lines = Mapped(folder, file);
  const int size = atoi(Value(json, key));
  const char *at = lines.bytes, *end = at + lines.size;
  int count = 0;
  for (const char* i = at; i < end; i++) count += *i == '\n';
  if (lines.size < strlen(specials) || memcmp(at, specials, strlen(specials)) ||
      end[-1] != '\n' || count != size) {
    Fail(path, "is damaged, or of another export");
  }
  Vocabulary read = {Allocated(size * sizeof(Word)), NULL, size};
  for (int i = 0; i < size; i++) {
    const char* stop = memchr(at, '\n', (size_t)(end - at));
    read.words[i] = (Word){at, (size_t)(stop - at), i};
    at = stop + 1;
  }
  const size_t others = (size_t)(size - kNumSpecials);
  read.sorted = memcpy(Allocated(others * sizeof(Word)),
                       read.words + kNumSpecials, others * sizeof(Word));
  qsort(read.sorted, others, sizeof(Word), Compare);
  return read;
}

static int Id(const Vocabulary* of, const Word* word) {
  const Word* found =
      bsearch(word, of->sorted, of->size - kNumSpecials, sizeof(Word), Compare);
  return found ? found->id : kUnk;
}

/* Reads a code point. U+FFFD stands for bytes that are none, as few as cannot
 * begin one, as in TensorFlow. */
static uint32_t Next(const uint8_t** at, const uint8_t* end) {
  const uint8_t first = *(*at)++;
  if (first < 0x80) return first;
  if (first < 0xC2 || first > 0xF4) return 0xFFFD;
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  /* Neither overlong forms, nor surrogates, nor what is above U+10FFFF. */
  uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  uint32_t point = first & (0x3F >> more);
  for (int i = 0; i < more; i++, least = 0x80, most = 0xBF) {
    if (*at == end || **at < least || **at > most) return 0xFFFD;
    point = point << 6 | (*(*at)++ & 0x3F);
  }
  return point;
}

/* Blanks of Unicode, control characters, U+200B, and the byte-order mark. */
static int IsBlank(uint32_t x) {
  return x <= 0x20 || (x >= 0x7F && x <= 0xA0) || x == 0x1680 ||
         (x >= 0x2000 && x <= 0x200B) || x == 0x2028 || x == 0x2029 ||
         x == 0x202F || x == 0x205F || x == 0x3000 || x == 0xFEFF;
}

/* Cuts a line into its first words, at most `most`; returns how many. `room`
 * has three bytes for each of the line. */
static int Cut(const char* line, size_t size, int most, char* room,
               Word* words) {
  const uint8_t *at = (const uint8_t*)line, *end = at + size;
  int count = 0, was_blank = 1;
  while (at < end) {
    const uint8_t* from = at;
    const uint32_t point = Next(&at, end);
    const int is_blank = IsBlank(point), is_none = point == 0xFFFD;
    if (!is_blank) {
      if (was_blank && count == most) break;
      if (was_blank) words[count++] = (Word){room, 0, 0};
      const size_t length = is_none ? 3 : (size_t)(at - from);
      memcpy(room, is_none ? (const void*)"\xEF\xBF\xBD" : from, length);
      words[count - 1].size += length;
      room += length;
    }
    was_blank = is_blank;
  }
  return count;
}

/* Programs. */

typedef struct {
  LiteRtParamIndex signature;
  int length; /* S. */
  size_t num_inputs, num_outputs;
  LiteRtTensorBuffer arrays[kMostArrays]; /* Inputs first; made when used. */
  LiteRtTensorBuffer ids, copy_ids, found;
} Program;

typedef struct {
  LiteRtEnvironment environment;
  LiteRtModel model;
  LiteRtOptions options;
  LiteRtCompiledModel compiled;
  Program* programs;
  int count, longest;
} Search;

static Search OpenSearch(const char* folder, const char* json) {
  const Bytes file = Mapped(folder, "assets.extra/search.tflite");
  Search s = {0};
  size_t count;
  char checksum[65];
  Checksum(file, checksum);
  const char* expected = Value(Value(json, "litert"), "sha256");
  if (*expected != '"' || strncmp(expected + 1, checksum, 64)) {
    Fail(path, "is damaged, or no file of LiteRT that is of this export");
  }
  TRY(LiteRtCreateEnvironment(0, NULL, &s.environment));
  /* Unlike those of a file that LiteRT opens itself, bytes are verified. */
  const LiteRtStatus status = LiteRtCreateModelFromBuffer(
      s.environment, file.bytes, file.size, &s.model);
  if (status != kLiteRtStatusOk) {
    Fail(path, "is damaged, or no file of LiteRT (status %d)", (int)status);
  }
  TRY(LiteRtGetNumModelSignatures(s.model, &count));
  s.programs = Allocated(count * sizeof(Program));
  for (size_t i = 0; i < count; i++) {
    LiteRtSignature signature;
    const char* name;
    int length, end = 0;
    TRY(LiteRtGetModelSignature(s.model, i, &signature));
    TRY(LiteRtGetSignatureKey(signature, &name));
    if (sscanf(name, "free_1x%d%n", &length, &end) != 1 || name[end]) continue;
    s.programs[s.count++] = (Program){.signature = i, .length = length};
    if (length > s.longest) s.longest = length;
  }
  if (!s.count) {
    Fail(path, "has no program free_1x...; required_... must know more");
  }
  TRY(LiteRtCreateOptions(&s.options));
  TRY(LiteRtSetOptionsHardwareAccelerators(s.options, kLiteRtHwAcceleratorCpu));
  TRY(LiteRtCreateCompiledModel(s.environment, s.model, s.options,
                                &s.compiled));
  return s;
}

static LiteRtTensorBuffer Array(const Search* s, LiteRtTensor of,
                                LiteRtTensorBufferRequirements needed) {
  LiteRtRankedTensorType type;
  LiteRtTensorBuffer array;
  TRY(LiteRtGetRankedTensorType(of, &type));
  TRY(LiteRtCreateManagedTensorBufferFromRequirements(s->environment, &type,
                                                      needed, &array));
  return array;
}

static void MakeArrays(const Search* s, Program* p) {
  LiteRtSignature of;
  LiteRtTensor tensor;
  LiteRtTensorBufferRequirements needed;
  const char* name;
  size_t sizes[2] = {0};
  TRY(LiteRtGetModelSignature(s->model, p->signature, &of));
  TRY(LiteRtGetNumSignatureInputs(of, &p->num_inputs));
  TRY(LiteRtGetNumSignatureOutputs(of, &p->num_outputs));
  const size_t inputs = p->num_inputs, all = inputs + p->num_outputs;
  for (size_t i = 0; i < inputs && all <= kMostArrays; i++) {
    TRY(LiteRtGetSignatureInputName(of, i, &name));
    TRY(LiteRtGetSignatureInputTensorByIndex(of, i, &tensor));
    TRY(LiteRtGetCompiledModelInputBufferRequirements(s->compiled, p->signature,
                                                      i, &needed));
    p->arrays[i] = Array(s, tensor, needed);
    if (!strcmp(name, "ids")) p->ids = p->arrays[i];
    if (!strcmp(name, "copy_ids")) p->copy_ids = p->arrays[i];
  }
  for (size_t i = 0; i < all - inputs && all <= kMostArrays; i++) {
    TRY(LiteRtGetSignatureOutputName(of, i, &name));
    TRY(LiteRtGetSignatureOutputTensorByIndex(of, i, &tensor));
    TRY(LiteRtGetCompiledModelOutputBufferRequirements(
        s->compiled, p->signature, i, &needed));
    p->arrays[inputs + i] = Array(s, tensor, needed);
    if (!strcmp(name, "ids")) p->found = p->arrays[inputs + i];
  }
  if (!p->ids || !p->copy_ids || !p->found) Fail(path, "has other arrays");
  TRY(LiteRtGetTensorBufferPackedSize(p->ids, sizes));
  TRY(LiteRtGetTensorBufferPackedSize(p->copy_ids, sizes + 1));
  for (int i = 0; i < 2; i++) {
    if (sizes[i] != p->length * sizeof(int32_t)) Fail(path, "has other sizes");
  }
}

static void CloseSearch(Search* s) {
  for (int i = 0; i < s->count; i++) {
    const size_t all = s->programs[i].num_inputs + s->programs[i].num_outputs;
    for (size_t j = 0; j < all; j++) {
      LiteRtDestroyTensorBuffer(s->programs[i].arrays[j]);
    }
  }
  free(s->programs);
  LiteRtDestroyCompiledModel(s->compiled);
  LiteRtDestroyOptions(s->options);
  LiteRtDestroyModel(s->model);
  LiteRtDestroyEnvironment(s->environment);
}

/* Prints the answer to a text. Returns 0 if it is longer than all programs. */
static int Answer(const Search* s, const Vocabulary* source,
                  const Vocabulary* target, const Word* words, int count,
                  int has_eos) {
  static const Word unk = {"<unk>", 5, kUnk};
  Program* p = NULL;
  for (int i = 0; i < s->count; i++) {
    Program* other = s->programs + i;
    if (other->length < count + has_eos) continue;
    if (!p || other->length < p->length) p = other;
  }
  if (!p) return 0;
  if (!p->found) MakeArrays(s, p);
  void *ids, *copy_ids, *found;
  size_t size;
  TRY(LiteRtLockTensorBuffer(p->ids, &ids, kLiteRtTensorBufferLockModeWrite));
  TRY(LiteRtLockTensorBuffer(p->copy_ids, &copy_ids,
                             kLiteRtTensorBufferLockModeWrite));
  for (int i = 0; i < p->length; i++) {
    int id = i == count && has_eos ? kEos : kPad, copy_id = kNoCopy;
    if (i < count) {
      id = Id(source, words + i);
      copy_id = Id(target, words + i);
    }
    if (copy_id == kUnk) {
      int first = 0;
      while (Compare(words + first, words + i)) first++;
      copy_id = Compare(words + i, &unk) ? target->size + first : kNoCopy;
    }
    ((int32_t*)ids)[i] = id;
    ((int32_t*)copy_ids)[i] = copy_id;
  }
  TRY(LiteRtUnlockTensorBuffer(p->ids));
  TRY(LiteRtUnlockTensorBuffer(p->copy_ids));
  TRY(LiteRtRunCompiledModel(s->compiled, p->signature, p->num_inputs,
                             p->arrays, p->num_outputs,
                             p->arrays + p->num_inputs));
  TRY(LiteRtGetTensorBufferPackedSize(p->found, &size));
  TRY(LiteRtLockTensorBuffer(p->found, &found,
                             kLiteRtTensorBufferLockModeRead));
  for (size_t i = 0; i < size / sizeof(int32_t); i++) {
    const int32_t id = ((int32_t*)found)[i];
    if (id == kEos || id == kPad) break;
    if (id < 0 || id >= target->size + count) Fail(path, "finds the id %d", id);
    const Word* word =
        id < target->size ? target->words + id : words + (id - target->size);
    if (i) putchar(' ');
    fwrite(word->bytes, 1, word->size, stdout);
  }
  TRY(LiteRtUnlockTensorBuffer(p->found));
  return 1;
}

/* What LiteRT tells goes nowhere, but with TF_CPP_MIN_LOG_LEVEL=0. */
static void HideStderr(void) {
  /* What is closed fails, and is no file that is opened later. */
  for (int number = 0; number < 3; number++) {
    if (fcntl(number, F_GETFD) < 0) {
      open("/dev/null", number ? O_RDONLY : O_WRONLY);
    }
  }
  const char* level = getenv("TF_CPP_MIN_LOG_LEVEL");
  if (level && !strcmp(level, "0")) return;
  const int nowhere = open("/dev/null", O_WRONLY);
  user_stderr = dup(2);
  dup2(nowhere, 2);
  close(nowhere);
}

static void EndLine(void) {
  putchar('\n');
  if (fflush(stdout) || ferror(stdout)) {
    Fail("standard output", "%s", strerror(errno));
  }
}

int main(int argc, char** argv) {
  HideStderr();
  const char* folder = argv[argc - 1];
  if (argc == 2 && !strcmp(folder, "--help")) {
    fwrite(kHelp, 1, sizeof kHelp - 2, stdout);
    EndLine();
    return 0;
  }
  if (argc != 2 || *folder == '-') {
    Fail("expected the folder of an export", "see --help");
  }
  char* json = ReadConfig(folder);
  const int has_eos = !!strncmp(Value(json, "append_eos"), "false", 5);
  Vocabulary source = ReadVocabulary(folder, json, "source");
  Vocabulary target = ReadVocabulary(folder, json, "target");
  Search search = OpenSearch(folder, json);
  /* The rest of a text is not read. More than any program reads is told. */
  int most = atoi(Value(json, "max_source_length"));
  if (most > search.longest) most = search.longest + 1;
  Word* words = Allocated(most * sizeof(Word));
  char *line = NULL, *room = NULL;
  size_t capacity = 0, has_room = 0;
  ssize_t size;
  for (long number = 1; (size = getline(&line, &capacity, stdin)) >= 0;
       number++) {
    if (has_room < capacity) {
      free(room);
      room = Allocated(3 * (has_room = capacity));
    }
    const int count = Cut(line, (size_t)size, most, room, words);
    if (count && !Answer(&search, &source, &target, words, count, has_eos)) {
      Fail("standard input", "line %ld: more than the %d words that %s reads",
           number, search.longest - has_eos, path);
    }
    EndLine();
  }
  if (ferror(stdin)) Fail("standard input", "%s", strerror(errno));
  CloseSearch(&search);
  free(source.words), free(source.sorted);
  free(target.words), free(target.sorted);
  free(json), free(words), free(line), free(room);
  return 0;
}

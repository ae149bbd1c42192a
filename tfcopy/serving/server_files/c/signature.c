/* Reads the few fields of MetaGraphDef that name a signature's tensors:
 *
 *   MetaGraphDef      5: signature_def, a map
 *   SignatureDef      1: inputs, 2: outputs, maps to TensorInfo
 *   TensorInfo        1: name, "operation:index"  2: dtype  3: tensor_shape
 *   TensorShapeProto  2: dim  3: unknown_rank
 *   of each map       1: key  2: value
 *
 * Reference: tensorflow/core/protobuf/meta_graph.proto.
 */

#include "signature.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const uint8_t* at;
  const uint8_t* end;
} Bytes;

typedef struct {
  int number;
  uint64_t value; /* Of a varint. */
  Bytes content;  /* Of what has a length. */
} Field;

static int ReadVarint(Bytes* from, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && from->at < from->end; shift += 7) {
    const uint8_t byte = *from->at++;
    *value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return 1;
  }
  return 0;
}

/* Returns 1 with the next field, 0 at the end, -1 if there is no sense. */
static int Next(Bytes* from, Field* field) {
  if (from->at == from->end) return 0;
  uint64_t tag, length = 0;
  if (!ReadVarint(from, &tag)) return -1;
  *field = (Field){.number = (int)(tag >> 3)};
  switch (tag & 7) {
    case 0:
      return ReadVarint(from, &field->value) ? 1 : -1;
    case 1:
      length = 8;
      break;
    case 2:
      if (!ReadVarint(from, &length)) return -1;
      break;
    case 5:
      length = 4;
      break;
    default:
      return -1;
  }
  if (length > (uint64_t)(from->end - from->at)) return -1;
  field->content = (Bytes){from->at, from->at + length};
  from->at += length;
  return 1;
}

static int CopyText(Bytes from, char* to, size_t capacity) {
  const size_t length = (size_t)(from.end - from.at);
  if (length >= capacity) return -1;
  memcpy(to, from.at, length);
  to[length] = 0;
  return 0;
}

/* The key and the value of a map's entry. */
static int ReadEntry(Bytes entry, char* key, size_t capacity, Bytes* value) {
  Field field;
  int state;
  key[0] = 0;
  *value = (Bytes){0};
  while ((state = Next(&entry, &field)) == 1) {
    if (field.number == 1 && CopyText(field.content, key, capacity)) return -1;
    if (field.number == 2) *value = field.content;
  }
  return state;
}

static int ReadRank(Bytes shape) {
  Field field;
  int state, rank = 0;
  while ((state = Next(&shape, &field)) == 1) {
    if (field.number == 2) rank++;
    if (field.number == 3 && field.value) return -1;
  }
  return state ? -1 : rank;
}

static int ReadPort(Bytes entry, Port* port) {
  Bytes info;
  Field field;
  int state;
  if (ReadEntry(entry, port->name, sizeof port->name, &info)) return -1;
  while ((state = Next(&info, &field)) == 1) {
    if (field.number == 2) port->dtype = (int)field.value;
    if (field.number == 3) port->rank = ReadRank(field.content);
    if (field.number != 1) continue;
    if (CopyText(field.content, port->operation, sizeof port->operation)) {
      return -1;
    }
    char* colon = strrchr(port->operation, ':');
    if (!colon) return -1;
    *colon = 0;
    port->index = atoi(colon + 1);
  }
  return state;
}

static int ByName(const void* a, const void* b) {
  return strcmp(((const Port*)a)->name, ((const Port*)b)->name);
}

static int ReadPorts(Bytes definition, Signature* signature) {
  Field field;
  int state;
  memset(signature, 0, sizeof *signature);
  while ((state = Next(&definition, &field)) == 1) {
    if (field.number != 1 && field.number != 2) continue;
    const int is_input = field.number == 1;
    int* count = is_input ? &signature->num_inputs : &signature->num_outputs;
    Port* ports = is_input ? signature->inputs : signature->outputs;
    if (*count == kMaxPorts || ReadPort(field.content, &ports[(*count)++])) {
      return -1;
    }
  }
  qsort(signature->inputs, signature->num_inputs, sizeof(Port), ByName);
  qsort(signature->outputs, signature->num_outputs, sizeof(Port), ByName);
  return state;
}

int ReadSignature(const void* meta_graph, size_t size, const char* name,
                  Signature* signature) {
  Bytes message = {meta_graph, (const uint8_t*)meta_graph + size};
  Field field;
  while (Next(&message, &field) == 1) {
    char key[64];
    Bytes definition;
    if (field.number == 5 &&
        !ReadEntry(field.content, key, sizeof key, &definition) &&
        !strcmp(key, name)) {
      return ReadPorts(definition, signature);
    }
  }
  return -1;
}

/* What a SavedModel's signature takes and gives, out of its MetaGraphDef. */

#ifndef TFCOPY_SERVING_C_SIGNATURE_H_
#define TFCOPY_SERVING_C_SIGNATURE_H_

#include <stddef.h>

enum { kMaxPorts = 16 };

/* An input or an output. */
typedef struct {
  char name[64];       /* As the user knows it. */
  char operation[256]; /* Of the graph. */
  int index;           /* Of the operation's outputs. */
  int dtype;           /* TF_DataType; TensorFlow's DataType has its values. */
  int rank;
} Port;

/* Ports are in the order of their names. */
typedef struct {
  Port inputs[kMaxPorts], outputs[kMaxPorts];
  int num_inputs, num_outputs;
} Signature;

/* Reads the signature `name` of a serialised MetaGraphDef. Returns 0; -1 if
 * there is none, or it is not one that this program can use. */
int ReadSignature(const void* meta_graph, size_t size, const char* name,
                  Signature* signature);

#endif

/* A SavedModel in TensorFlow's C runtime, asked with texts. */

#ifndef TFCOPY_SERVING_C_MODEL_H_
#define TFCOPY_SERVING_C_MODEL_H_

#include <stddef.h>

#include "signature.h"
#include "tensorflow/c/c_api.h"

typedef struct {
  char* bytes; /* Not ended by a zero. */
  size_t size;
} Text;

typedef struct {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* status;
  Signature signature;
  TF_Output inputs[kMaxPorts];
  TF_Output output;
  const Port* answers; /* Which of the signature's outputs it is. */
} Model;

/* Loads a model, and chooses the signature and the output that are asked for.
 *
 *   folder      That of one version.
 *   libraries   Paths of further operations; `num_libraries` of them.
 *   threads     Of an operation, and of operations at once; 0 for all cores.
 *   output      NULL for the first there is of text, label and next_words.
 *
 * Returns NULL, or what is wrong. */
const char* LoadModel(Model* model, const char* folder, const char** libraries,
                      int num_libraries, int threads, const char* signature,
                      const char* output);

/* Asks with `batch` examples, one text for each input after the other.
 *
 * `answers` has room for `batch` texts, which the caller frees: those of text
 * outputs, the words of an example between spaces, or numbers so written.
 * Returns NULL, or what is wrong; then there are no answers. */
const char* Ask(Model* model, const Text* texts, int batch, Text* answers);

void CloseModel(Model* model);

#endif

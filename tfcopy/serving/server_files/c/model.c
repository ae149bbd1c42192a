#include "model.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char problem[4096];

static const char* Problem(const char* about, const char* what) {
  snprintf(problem, sizeof problem, "%s: %s", about, what);
  problem[strcspn(problem, "\n")] = 0;
  return problem;
}

static const Port* FindOutput(const Signature* signature, const char* name) {
  static const char* usual[] = {"text", "label", "next_words"};
  const char** names = name ? &name : usual;
  for (int i = 0; i < (name ? 1 : 3); i++) {
    for (int j = 0; j < signature->num_outputs; j++) {
      if (!strcmp(signature->outputs[j].name, names[i])) {
        return &signature->outputs[j];
      }
    }
  }
  return NULL;
}

static int FindTensor(const Model* model, const Port* port, TF_Output* found) {
  found->oper = TF_GraphOperationByName(model->graph, port->operation);
  found->index = port->index;
  return found->oper != NULL;
}

static const char* Choose(Model* model, const char* name, const char* output) {
  const Signature* signature = &model->signature;
  for (int i = 0; i < signature->num_inputs; i++) {
    const Port* port = &signature->inputs[i];
    if (port->dtype != TF_STRING || port->rank != 1) {
      return Problem(name, "takes more than one text for each input");
    }
    if (!FindTensor(model, port, &model->inputs[i])) {
      return Problem(port->operation, "not in the graph");
    }
  }
  model->answers = FindOutput(signature, output);
  if (!model->answers || !FindTensor(model, model->answers, &model->output)) {
    return Problem(name, "has no such output");
  }
  if (model->answers->dtype != TF_STRING &&
      model->answers->dtype != TF_FLOAT && model->answers->dtype != TF_INT32) {
    return Problem(model->answers->name, "is neither text nor numbers");
  }
  return NULL;
}

const char* LoadModel(Model* model, const char* folder, const char** libraries,
                      int num_libraries, int threads, const char* signature,
                      const char* output) {
  memset(model, 0, sizeof *model);
  model->status = TF_NewStatus();
  for (int i = 0; i < num_libraries; i++) {
    TF_LoadLibrary(libraries[i], model->status);
    if (TF_GetCode(model->status) != TF_OK) {
      return Problem(libraries[i], TF_Message(model->status));
    }
  }
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (threads > 0) {
    /* ConfigProto 2: intra_op_parallelism_threads, 5: inter_op. */
    const uint8_t count = threads < 127 ? threads : 127;
    const uint8_t config[] = {2 << 3, count, 5 << 3, count};
    TF_SetConfig(options, config, sizeof config, model->status);
  }
  model->graph = TF_NewGraph();
  TF_Buffer* meta_graph = TF_NewBuffer();
  const char* tags[] = {"serve"};
  model->session =
      TF_LoadSessionFromSavedModel(options, NULL, folder, tags, 1, model->graph,
                                   meta_graph, model->status);
  TF_DeleteSessionOptions(options);
  const char* wrong = NULL;
  if (TF_GetCode(model->status) != TF_OK) {
    model->session = NULL;
    wrong = Problem(folder, TF_Message(model->status));
  } else if (ReadSignature(meta_graph->data, meta_graph->length, signature,
                           &model->signature)) {
    wrong = Problem(folder, "has no such signature");
  } else {
    wrong = Choose(model, signature, output);
  }
  TF_DeleteBuffer(meta_graph);
  return wrong;
}

static TF_Tensor* TextTensor(const Text* texts, int batch, int stride) {
  const int64_t shape[] = {batch};
  TF_Tensor* tensor =
      TF_AllocateTensor(TF_STRING, shape, 1, batch * sizeof(TF_TString));
  TF_TString* strings = TF_TensorData(tensor);
  for (int i = 0; i < batch; i++) {
    TF_TString_Init(&strings[i]);
    TF_TString_Copy(&strings[i], texts[i * stride].bytes,
                    texts[i * stride].size);
  }
  return tensor;
}

/* The runtime does not free the texts of tensors that it has not made. */
static void DeleteTextTensor(TF_Tensor* tensor, int batch) {
  TF_TString* strings = TF_TensorData(tensor);
  for (int i = 0; i < batch; i++) TF_TString_Dealloc(&strings[i]);
  TF_DeleteTensor(tensor);
}

static void Append(Text* text, const char* bytes, size_t size) {
  text->bytes = realloc(text->bytes, text->size + size + 1);
  if (!text->bytes) abort();
  memcpy(text->bytes + text->size, bytes, size);
  text->size += size;
}

/* The values of one example as a text. */
static Text Answer(const TF_Tensor* tensor, int64_t first, int64_t count) {
  Text text = {NULL, 0};
  Append(&text, "", 0);
  for (int64_t i = first; i < first + count; i++) {
    char number[32];
    if (i > first) Append(&text, " ", 1);
    if (TF_TensorType(tensor) == TF_STRING) {
      const TF_TString* string = (TF_TString*)TF_TensorData(tensor) + i;
      Append(&text, TF_TString_GetDataPointer(string),
             TF_TString_GetSize(string));
    } else if (TF_TensorType(tensor) == TF_FLOAT) {
      const float value = ((float*)TF_TensorData(tensor))[i];
      Append(&text, number, snprintf(number, sizeof number, "%.9g", value));
    } else {
      const int32_t value = ((int32_t*)TF_TensorData(tensor))[i];
      Append(&text, number, snprintf(number, sizeof number, "%d", value));
    }
  }
  return text;
}

const char* Ask(Model* model, const Text* texts, int batch, Text* answers) {
  const int count = model->signature.num_inputs;
  TF_Tensor* inputs[kMaxPorts];
  TF_Tensor* output = NULL;
  for (int i = 0; i < count; i++) inputs[i] = TextTensor(texts + i, batch, count);
  TF_SessionRun(model->session, NULL, model->inputs, inputs, count,
                &model->output, &output, 1, NULL, 0, NULL, model->status);
  const char* wrong = NULL;
  if (TF_GetCode(model->status) != TF_OK) {
    wrong = Problem("model", TF_Message(model->status));
  } else if (TF_NumDims(output) < 1 || TF_Dim(output, 0) != batch) {
    wrong = Problem("model", "gives another number of answers");
  } else {
    const int64_t size = batch ? TF_TensorElementCount(output) / batch : 0;
    for (int i = 0; i < batch; i++) answers[i] = Answer(output, i * size, size);
  }
  for (int i = 0; i < count; i++) DeleteTextTensor(inputs[i], batch);
  if (output) TF_DeleteTensor(output);
  return wrong;
}

void CloseModel(Model* model) {
  if (model->session) {
    TF_CloseSession(model->session, model->status);
    TF_DeleteSession(model->session, model->status);
  }
  TF_DeleteGraph(model->graph);
  TF_DeleteStatus(model->status);
}

/* What search_litert.c uses of LiteRT's C API, as of release 2.3.0.
 *
 * The wheel `ai-edge-litert` brings the library without its headers. Where
 * these are at hand (litert/c/ of LiteRT's sources), include them instead: all
 * names are theirs. Other releases may have other arguments: older ones read a
 * model without an environment.
 */

#ifndef TFCOPY_SERVING_C_LITERT_H_
#define TFCOPY_SERVING_C_LITERT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LiteRtEnvironmentT* LiteRtEnvironment;
typedef struct LiteRtModelT* LiteRtModel;
typedef struct LiteRtSignatureT* LiteRtSignature;
typedef struct LiteRtTensorT* LiteRtTensor;
typedef struct LiteRtOptionsT* LiteRtOptions;
typedef struct LiteRtCompiledModelT* LiteRtCompiledModel;
typedef struct LiteRtTensorBufferT* LiteRtTensorBuffer;
typedef struct LiteRtTensorBufferRequirementsT* LiteRtTensorBufferRequirements;
typedef struct LiteRtEnvOption LiteRtEnvOption;
typedef size_t LiteRtParamIndex;

typedef enum { kLiteRtStatusOk = 0 } LiteRtStatus;
typedef enum { kLiteRtHwAcceleratorCpu = 1 } LiteRtHwAccelerators;
typedef int LiteRtHwAcceleratorSet;
typedef enum { kLiteRtElementTypeInt32 = 2 } LiteRtElementType;
typedef enum {
  kLiteRtTensorBufferLockModeRead = 0,
  kLiteRtTensorBufferLockModeWrite = 1
} LiteRtTensorBufferLockMode;

typedef struct {
  unsigned int rank : 7;
  bool has_strides : 1;
  int32_t dimensions[8];
  uint32_t strides[8];
} LiteRtLayout;

typedef struct {
  LiteRtElementType element_type;
  LiteRtLayout layout;
} LiteRtRankedTensorType;

_Static_assert(sizeof(LiteRtRankedTensorType) == 72, "another layout");

/* There need be no options. */
LiteRtStatus LiteRtCreateEnvironment(int, const LiteRtEnvOption*,
                                     LiteRtEnvironment*);
void LiteRtDestroyEnvironment(LiteRtEnvironment);

/* The bytes must stay as long as the model. */
LiteRtStatus LiteRtCreateModelFromBuffer(LiteRtEnvironment, const void*, size_t,
                                         LiteRtModel*);
void LiteRtDestroyModel(LiteRtModel);
LiteRtStatus LiteRtGetNumModelSignatures(LiteRtModel, LiteRtParamIndex*);
LiteRtStatus LiteRtGetModelSignature(LiteRtModel, LiteRtParamIndex,
                                     LiteRtSignature*);
LiteRtStatus LiteRtGetSignatureKey(LiteRtSignature, const char**);
LiteRtStatus LiteRtGetNumSignatureInputs(LiteRtSignature, LiteRtParamIndex*);
LiteRtStatus LiteRtGetNumSignatureOutputs(LiteRtSignature, LiteRtParamIndex*);
LiteRtStatus LiteRtGetSignatureInputName(LiteRtSignature, LiteRtParamIndex,
                                         const char**);
LiteRtStatus LiteRtGetSignatureOutputName(LiteRtSignature, LiteRtParamIndex,
                                          const char**);
LiteRtStatus LiteRtGetSignatureInputTensorByIndex(LiteRtSignature,
                                                  LiteRtParamIndex,
                                                  LiteRtTensor*);
LiteRtStatus LiteRtGetSignatureOutputTensorByIndex(LiteRtSignature,
                                                   LiteRtParamIndex,
                                                   LiteRtTensor*);
LiteRtStatus LiteRtGetRankedTensorType(LiteRtTensor, LiteRtRankedTensorType*);

LiteRtStatus LiteRtCreateOptions(LiteRtOptions*);
LiteRtStatus LiteRtSetOptionsHardwareAccelerators(LiteRtOptions,
                                                  LiteRtHwAcceleratorSet);
void LiteRtDestroyOptions(LiteRtOptions);

/* The numbers are those of a signature, and of one of its tensors. */
LiteRtStatus LiteRtCreateCompiledModel(LiteRtEnvironment, LiteRtModel,
                                       LiteRtOptions, LiteRtCompiledModel*);
void LiteRtDestroyCompiledModel(LiteRtCompiledModel);
LiteRtStatus LiteRtGetCompiledModelInputBufferRequirements(
    LiteRtCompiledModel, LiteRtParamIndex, LiteRtParamIndex,
    LiteRtTensorBufferRequirements*);
LiteRtStatus LiteRtGetCompiledModelOutputBufferRequirements(
    LiteRtCompiledModel, LiteRtParamIndex, LiteRtParamIndex,
    LiteRtTensorBufferRequirements*);
LiteRtStatus LiteRtRunCompiledModel(LiteRtCompiledModel, LiteRtParamIndex,
                                    size_t, LiteRtTensorBuffer*, size_t,
                                    LiteRtTensorBuffer*);

LiteRtStatus LiteRtCreateManagedTensorBufferFromRequirements(
    LiteRtEnvironment, const LiteRtRankedTensorType*,
    LiteRtTensorBufferRequirements, LiteRtTensorBuffer*);
void LiteRtDestroyTensorBuffer(LiteRtTensorBuffer);
LiteRtStatus LiteRtGetTensorBufferPackedSize(LiteRtTensorBuffer, size_t*);
LiteRtStatus LiteRtLockTensorBuffer(LiteRtTensorBuffer, void**,
                                    LiteRtTensorBufferLockMode);
LiteRtStatus LiteRtUnlockTensorBuffer(LiteRtTensorBuffer);

#endif

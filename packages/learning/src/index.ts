// Small nets and their training: dense layers, a tape for graphs of them, Adam, weights files. Pure.
export { Adam } from "./adam.ts";
export { DenseNet, type Parameter } from "./dense-net.ts";
export { WeightsError } from "./errors.ts";
export { Tape, type Activation } from "./tape.ts";
export { constant, type Tensor } from "./tensor.ts";
export { readWeights, writeWeights, type NamedArray } from "./weights-file.ts";

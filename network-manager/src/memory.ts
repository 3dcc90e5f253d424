// The kernel of a node of an embedded cluster.
export { MemoryKernel } from "./adapters/memory-kernel.ts";

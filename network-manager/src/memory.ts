export { MemoryKernel } from "./adapters/memory-kernel.ts";

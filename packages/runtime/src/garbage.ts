import { setFlagsFromString } from "node:v8";

/**
 * Lets the heap's limit count for buffers, too. By default V8 begins a full collection with each 64 MiB of
 * new buffers, however large the heap is: a service that reads much and keeps much spends more than half of
 * its time in collections that find next to nothing (aggregator with a heap of 1 GB, from Kafka to its
 * graphs: 70 CPU seconds without this, 43 with it). Then at most as much is garbage as is alive, buffers
 * included. Affects the whole process; call it first.
 */
export function countBuffersAsHeap(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
}

/**
 * Lets a heap that is kept full for hours take no more pages than it needs. By default V8 lets garbage grow
 * with what is alive, and moves together only what lies in pages that are nearly empty: the pages of an
 * aggregator with 730 MB alive went on growing to its limit, 910 to 980 MiB in a quarter of an hour. Here a
 * collection begins with a quarter of garbage, and empties pages that are less than four fifths full, a few
 * at a time (soak of 5,000 nodes: +0.9 % over the second half of 30 min, before +5.4 %). Costs throughput:
 * for processes whose memory is limited. Affects the whole process; call it first.
 */
export function keepHeapDense(): void {
  for (const flag of ["--heap-growing-percent=25", "--optimize-for-size"]) setFlagsFromString(flag);
}

/**
 * Lets V8 prefer less memory to faster code: collections come earlier, and functions that run seldom are
 * compiled to less. Affects the whole process, threads that begin later included; call it first.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--optimize-for-size");
}

/** Whether whoever started the process has said how large its heap may be. */
export function hasHeapLimit(
  env: NodeJS.ProcessEnv,
  execArgv: readonly string[] = process.execArgv,
): boolean {
  return [env["NODE_OPTIONS"] ?? "", ...execArgv].some((options) =>
    /--max[-_]old[-_]space[-_]size/.test(options),
  );
}

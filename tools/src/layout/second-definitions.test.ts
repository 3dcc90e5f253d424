import { describe, expect, it } from "vitest";
import { secondDefinitions } from "./second-definitions.ts";

const found = (code: string, path = "a/x.ts"): string[] => secondDefinitions(path, code);

describe("a second definition", () => {
  it.each([
    "export function median(values: number[]): number {}",
    "const quantile = (q: number): number | null => null;",
    "const percentile = (values: number[], at: () => number) => at();",
    "const middle = sorted[sorted.length >> 1];",
    "class EventHeap {}",
    "export class TokenBucket {}",
    "function parseMemoryBytes(text: string) {}",
    "function mulberry32(seed: number) {}",
    "const seeded = (seed: number) => () => 0.5;",
    "state = (state + 0x6D2B79F5) | 0;",
    "function messageOf(error: unknown): string {}",
    "function codeOf(error: unknown): string {}",
    "const { code } = error as NodeJS.ErrnoException;",
    "function backoffMs(failures: number) {}",
  ])("is found: %s", (code) => {
    expect(found(code)).toHaveLength(1);
  });

  it("is named with its line and what to use", () => {
    expect(found("\n\nclass EventHeap {}")).toEqual([
      "a/x.ts:3: EventHeap: use MinHeap or NumberHeap of @isochrone/primitives",
    ]);
  });

  it.each([
    "const median = quantile(values, 0.5);",
    "const medianMs = median(values);",
    "const seeded = seed >= 0 && state.admits(pod, seed, false);",
    "const heap = new MinHeap<string>();",
    "function medianErrorMs(a: number) {}",
    "const half = left[right.length >> 1];",
    "queue.on(name, (error: NodeJS.ErrnoException) => undefined);",
  ])("is no use of the first: %s", (code) => {
    expect(found(code)).toEqual([]);
  });

  it("is no definition in its own place", () => {
    expect(found("export function median() {}", "packages/primitives/src/statistics.ts")).toEqual([]);
  });
});

import { defineConfig } from "vitest/config";
import LongestFirst from "./tools/src/longest-first.ts";

const SOURCES =
  "{probe,collector,network-manager,dispatcher,aggregator,scheduler-plugin,dashboard,cli,experiments,tools,packages/*}/src/**";

// The times bound what never ends; what only takes long, beside thirty other busy processes, passes.
//
// Unit tests sit beside the code; what crosses packages lives in test/, a project each, so that a suite can
// be run and timed alone. What needs the machine for itself, because it measures or floods, is called
// *.serial.test.ts wherever it stands: the suite "measuring", one file at a time. What follows an embedded
// cluster, shaped links or rates within wide bounds is called *.paired.test.ts, and so is what mostly waits:
// few files at a time, in company that leaves them the processor.
const project = (
  name: string,
  include: string[],
  testTimeout: number,
  { workers = "shared", isolate = true }: { workers?: keyof typeof SUFFIXES; isolate?: boolean } = {},
): object => ({
  test: {
    name,
    include,
    exclude: workers === "shared" ? Object.values(SUFFIXES).flat() : [],
    testTimeout,
    hookTimeout: testTimeout,
    // Of what is polled for, other programs and a busy machine decide how long it takes.
    expect: { poll: { timeout: testTimeout / 4 } },
    fileParallelism: workers !== "alone",
    isolate,
  },
});

/** Of the names of files that don't share the workers of their folder. */
const SUFFIXES = { shared: [], alone: ["**/*.serial.test.ts"], paired: ["**/*.paired.test.ts"] };

/**
 * A worker goes on with the next file: to load the same modules for each of hundreds of files took a third of
 * the suite's time.
 */
const SHARED_WORKERS = { isolate: false };

const wherever = (name: string): string[] => [
  `test/integration/**/${name}`,
  `test/e2e/**/${name}`,
  `${SOURCES}/${name}`,
];

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      project("unit", [`${SOURCES}/*.test.ts`], 240_000, SHARED_WORKERS),
      project("contract", ["test/contract/**/*.test.ts"], 120_000),
      project("integration", ["test/integration/**/*.test.ts"], 120_000),
      project("measuring", wherever("*.serial.test.ts"), 240_000, { workers: "alone" }),
      project("paired", wherever("*.paired.test.ts"), 240_000, { workers: "paired" }),
      project("e2e", ["test/e2e/**/*.test.ts"], 240_000),
    ],
  },
});

import { defineConfig } from "vitest/config";
import LongestFirst from "./tools/src/longest-first.ts";

const SOURCES =
  "{probe,collector,network-manager,dispatcher,aggregator,scheduler-plugin,dashboard,cli,experiments,tools,packages/*}/src/**";

// The times bound what never ends; what only takes long, beside thirty other busy processes, passes.
//
// Unit tests sit beside the code; what crosses packages lives in test/, a project each, so that a suite can
// be run and timed alone. What needs the machine for itself, because it measures or floods, is called
// *.serial.test.ts wherever it stands: the suite "measuring", one file at a time.
const project = (
  name: string,
  include: string[],
  testTimeout: number,
  { serial = false, isolate = true } = {},
): object => ({
  test: {
    name,
    include,
    exclude: serial ? [] : ["**/*.serial.test.ts"],
    testTimeout,
    hookTimeout: testTimeout,
    // Of what is polled for, other programs and a busy machine decide how long it takes.
    expect: { poll: { timeout: testTimeout / 4 } },
    fileParallelism: !serial,
    isolate,
  },
});

const ALONE = { serial: true };
/**
 * A worker goes on with the next file: to load the same modules for each of hundreds of files took a third of
 * the suite's time.
 */
const SHARED_WORKERS = { isolate: false };

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      project("unit", [`${SOURCES}/*.test.ts`], 240_000, SHARED_WORKERS),
      project("contract", ["test/contract/**/*.test.ts"], 120_000),
      project("integration", ["test/integration/**/*.test.ts"], 120_000),
      project(
        "measuring",
        [
          "test/integration/**/*.serial.test.ts",
          "test/e2e/**/*.serial.test.ts",
          `${SOURCES}/*.serial.test.ts`,
        ],
        240_000,
        ALONE,
      ),
      project("e2e", ["test/e2e/**/*.test.ts"], 240_000),
    ],
  },
});

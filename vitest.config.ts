import { defineConfig } from "vitest/config";
import LongestFirst from "./tools/src/longest-first.ts";

const SOURCES =
  "{probe,collector,network-manager,dispatcher,aggregator,scheduler-plugin,dashboard,cli,experiments,tools,packages/*}/src/**";

// Timeouts stop hung tests and allow for thirty other busy processes. Unit tests are next to the code; tests
// across packages are in test/, one project per folder, so that a suite can run alone. *.serial.test.ts needs
// the machine for itself, because it measures or floods: the suite "measuring" runs one file at a time.
// *.paired.test.ts follows an embedded cluster, shaped links or rates within wide limits, or mostly waits:
// few files run at a time, with other light tests.
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
    // Other programs and the load of the machine determine the duration of polled conditions.
    expect: { poll: { timeout: testTimeout / 4 } },
    fileParallelism: workers !== "alone",
    isolate,
  },
});

/** Name patterns of files that don't share their folder's workers. */
const SUFFIXES = { shared: [], alone: ["**/*.serial.test.ts"], paired: ["**/*.paired.test.ts"] };

/** Reloading the same modules for hundreds of files took a third of the suite's time. */
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

import { defineConfig } from "vitest/config";

// Unit tests sit beside the code; what crosses packages lives in test/, a project each, so that a suite can be run and timed alone.
const project = (name: string, include: string[], testTimeout: number, serial = false): object => ({
  test: {
    name,
    include,
    testTimeout,
    hookTimeout: testTimeout,
    ...(serial ? { fileParallelism: false } : {}),
  },
});

export default defineConfig({
  test: {
    projects: [
      project(
        "unit",
        ["{probe,collector,aggregator,scheduler-plugin,dashboard,cli,tools,packages/*}/src/**/*.test.ts"],
        20_000,
      ),
      project("contract", ["test/contract/**/*.test.ts"], 30_000),
      project("integration", ["test/integration/**/*.test.ts"], 120_000, true),
      project("e2e", ["test/e2e/**/*.test.ts"], 240_000, true),
    ],
  },
});

// Mistakes in settings name the file that they came from.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { SettingsError } from "../errors.ts";
import { loadSettings } from "./load.ts";
import { duration } from "./numbers.ts";
import { section } from "./section.ts";
import { list, oneOf, text } from "./texts.ts";

const probe = section(
  "probe",
  {
    intervalMs: duration({ default: "1s", min: 10, description: "Time between rounds." }),
    timeoutMs: duration({ default: 500, description: "Time for an answer." }),
    targets: list({ default: [], description: "Addresses." }),
    mode: oneOf(["icmp", "udp"], { default: "udp", description: "Protocol." }),
  },
  {
    rules: [
      ({ timeoutMs, intervalMs }) =>
        timeoutMs < intervalMs
          ? null
          : `timeoutMs must be below intervalMs, got ${timeoutMs} and ${intervalMs}`,
    ],
  },
);
const store = section("topologyStore", { url: text({ description: "Address of the store." }) });
const url = { ISOCHRONE_TOPOLOGY_STORE_URL: "http://store" };

const folder = mkdtempSync(join(tmpdir(), "isochrone-origin-"));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function mistakesOf(...args: Parameters<typeof loadSettings>): readonly string[] {
  try {
    loadSettings(...args);
  } catch (error) {
    if (error instanceof SettingsError) return error.mistakes;
    throw error;
  }
  return [];
}

test("every mistake of a file's value names the file, one of the environment names no file", () => {
  const file = write(
    "wrong.yaml",
    "prob: {}\nprobe:\n  intervallMs: 1\n  intervalMs: 3\n  mode: tcp\n  targets: null\ntopologyStore: 7\n",
  );
  const mistakes = mistakesOf([probe, store], { env: url, file });
  expect(mistakes).toHaveLength(6);
  expect(mistakes.filter((mistake) => !mistake.includes(file))).toEqual([]);
  expect(mistakes).toContain(
    `probe.intervalMs (ISOCHRONE_PROBE_INTERVAL_MS) must be at least 10, got 3 (in ${file})`,
  );
  const rule = write("rule.yaml", "probe:\n  timeoutMs: 5s\n");
  expect(mistakesOf([probe], { env: {}, file: rule })).toEqual([
    `probe: timeoutMs must be below intervalMs, got 5000 and 1000 (in ${rule})`,
  ]);
  const env = { ISOCHRONE_PROBE_MODE: "tcp" };
  expect(mistakesOf([probe], { env, file: write("right.yaml", "probe:\n  mode: udp\n") })).toEqual([
    "probe.mode (ISOCHRONE_PROBE_MODE) must be one of icmp, udp, got tcp",
  ]);
});

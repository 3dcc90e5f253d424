import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { metricNamesInCode, unknownMetrics } from "../harness/metric-names.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "helm/isochrone/rules");
const runbooks = join(root, "docs/runbooks");
const installed = spawnSync("promtool", ["--version"]).status === 0;
// With CI set, a missing tool is an error instead of a skip.
const canRun = installed || process.env["CI"] === "true";
const files = readdirSync(folder);
const rules = files.filter((name) => name.endsWith(".rules.yaml"));
const tests = files.filter((name) => name.endsWith(".rules.test.yaml"));

function promtool(...args: string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync("promtool", args, { cwd: folder, encoding: "utf8" });
  return { status, output: error?.message ?? `${stdout}${stderr}` };
}

describe("alert rules", () => {
  test("there are some, each file with tests", () => {
    expect(rules.length).toBeGreaterThan(0);
    expect(tests).toEqual(rules.map((name) => name.replace(".rules.yaml", ".rules.test.yaml")));
  });

  test.runIf(canRun)("promtool takes the rules and passes their tests", () => {
    const checked = promtool("check", "rules", ...rules);
    expect(checked.output).toContain("SUCCESS");
    expect(checked.status).toBe(0);
    const tested = promtool("test", "rules", ...tests);
    expect(tested.output).not.toContain("FAILED");
    expect(tested.status).toBe(0);
  });

  test("every metric in a rule is one that a service publishes, and every alert is tested", () => {
    const known = metricNamesInCode();
    for (const name of rules) {
      const text = readFileSync(join(folder, name), "utf8");
      expect(unknownMetrics(text, known)).toEqual([]);
      const testText = readFileSync(join(folder, name.replace(".rules.yaml", ".rules.test.yaml")), "utf8");
      for (const alert of alertsIn(text)) expect(testText).toContain(`alertname: ${alert}`);
    }
  });

  test("every metric that the services' code names is in the reference", () => {
    const reference = readFileSync(join(root, "docs/metrics.md"), "utf8");
    const missing = [...metricNamesInCode()].filter(
      (name) => !name.endsWith("_") && !reference.includes(`| \`${name}\` |`),
    );
    expect(missing).toEqual([]);
  });

  test("every alert has a page that says what it means and what to do, and every page an alert", () => {
    const alerts = rules.flatMap((name) => alertsIn(readFileSync(join(folder, name), "utf8")));
    expect(readdirSync(runbooks).sort()).toEqual(
      [...alerts.map((alert) => `${alert}.md`), "README.md"].sort(),
    );
    const texts = rules.map((name) => readFileSync(join(folder, name), "utf8")).join("");
    const named = [...texts.matchAll(/runbook_url: docs\/runbooks\/(\w+)\.md$/gm)].map(([, name]) => name);
    expect(named).toEqual(alerts);
    const index = readFileSync(join(runbooks, "README.md"), "utf8");
    for (const alert of alerts) {
      const page = readFileSync(join(runbooks, `${alert}.md`), "utf8");
      expect(page).toMatch(/^# \w+\n\n.+\n\n## Effect\n\n.+\n\n## Check\n\n- .+\n\n## Remedy\n\n- .+/s);
      expect(index).toContain(`(${alert}.md)`);
    }
  });

  test("what the pages name is there: settings, metrics, other pages", () => {
    const known = metricNamesInCode();
    const settings = new Set(
      readFileSync(join(root, "docs/configuration.md"), "utf8").match(/(?<=^\| `)\w+\.\w+(?=`)/gm),
    );
    const sections = new Set([...settings].map((setting) => setting.split(".")[0]));
    for (const name of readdirSync(runbooks)) {
      const page = readFileSync(join(runbooks, name), "utf8");
      expect(unknownMetrics(page, known)).toEqual([]);
      const named = page.match(/(?<=`)[a-zA-Z]+\.[a-zA-Z]+(?=[`=])/g) ?? [];
      const ours = named.filter((setting) => sections.has(setting.split(".")[0]));
      // The chart's own values share prefixes with some sections.
      expect(ours.filter((setting) => !settings.has(setting) && setting !== "aggregator.replicas")).toEqual(
        [],
      );
      for (const [, link] of page.matchAll(/\]\(([^)#]+)/g))
        expect(existsSync(join(runbooks, link!))).toBe(true);
    }
  });
});

function alertsIn(text: string): string[] {
  return [...text.matchAll(/- alert: (\w+)/g)].map(([, alert]) => alert!);
}

import { join } from "node:path";
import { expect, test } from "vitest";
import { rightsTable } from "./rights-reference.ts";

const rows = rightsTable(join(import.meta.dirname, "../..")).split("\n");
const rowOf = (name: string) => rows.find((row) => row.startsWith(`| \`${name}\` |`));

test("rights are told by file, with names, namespaces and paths", () => {
  expect(rowOf("scheduler-plugin-evictions")).toContain("`pods/eviction`: create");
  expect(rowOf("aggregator-netperf")).toBe(
    "| `aggregator-netperf` | annotations.netperfConfigMap. | " +
      "`configmaps` `NETPERF_NAME`: get, update (namespace `NETPERF_NAMESPACE`); " +
      "`configmaps`: create (namespace `NETPERF_NAMESPACE`) |",
  );
  expect(rowOf("scheduler-plugin-webhook")).toContain(
    "`leases` `isochrone-planner`: get, list, watch (own namespace)",
  );
  expect(rowOf("scheduler-plugin-certificates")).toContain(
    "`secrets` `isochrone-scheduler-plugin-certificates`, `isochrone-scheduler-plugin-kube-scheduler`, " +
      "`isochrone-scheduler-plugin-decisions`: get, update (own namespace)",
  );
  expect(rowOf("probe")).toContain("`/isochrone/v1/probe-plan`: get");
});

test("components come in the order of the data's path", () => {
  const names = rows.slice(2).map((row) => /`([\w-]+)`/.exec(row)?.[1] ?? "");
  expect(names[0]).toBe("probe");
  expect(names.indexOf("aggregator")).toBeLessThan(names.indexOf("scheduler-plugin"));
  expect(names.at(-1)).toBe("uninstall");
  expect(names).not.toContain("graph-roles");
});

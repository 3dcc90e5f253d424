import { topicSpecs } from "@isochrone/bus/open";
import { expect, test } from "vitest";
import { topicsTable } from "./topics-reference.ts";

test("each setting of each topic is told once, those of all topics first", () => {
  const [, , ...rows] = topicsTable().split("\n");
  expect(rows[0]).toMatch(/^\| all \| `min\.insync\.replicas` \| at least 2 \| error \| /);
  expect(new Set(rows).size).toBeGreaterThan(20);
  expect(rows.filter((row) => row.includes("`min.insync.replicas`"))).toHaveLength(1);
  for (const { topic, settings } of topicSpecs()) {
    const first = rows.findIndex((row) => row.includes(`\`${topic}\``));
    expect(first).toBeGreaterThan(0);
    const last = settings.at(-1)!;
    const end = rows.findIndex((row, index) => index > first && !row.startsWith("| |"));
    const own = rows.slice(first, end === -1 ? undefined : end);
    expect(own.some((row) => row.includes(`\`${last.name}\``) && row.includes(` ${last.value} |`))).toBe(
      true,
    );
  }
});

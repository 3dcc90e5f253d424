import { expect, it } from "vitest";
import { LoadTable } from "./load-table.ts";
import { system } from "./testing/system.ts";

it("a table of loads adds what the site sends to what was reported last", () => {
  const { nodes } = system({
    nodes: [{ ready: [1], busy: [1], waiting: [2], freeCores: 0.5 }, { ready: [1] }],
  });
  const table = new LoadTable(nodes, 1);
  const [first, second] = nodes;
  expect(table.load(first!, 0)).toEqual({ ahead: 0, freeCores: 2 });
  table.reported(first!, 0);
  table.sent(first!, 0);
  expect(table.load(first!, 0)).toEqual({ ahead: 4, freeCores: 0.5 });
  table.ended(first!, 0);
  table.ended(second!, 0);
  expect(table.load(first!, 0).ahead).toBe(3);
  expect(table.load(second!, 0).ahead).toBe(0);
});

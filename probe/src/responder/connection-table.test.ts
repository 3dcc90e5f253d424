import { describe, expect, test } from "vitest";
import { ConnectionTable } from "./connection-table.ts";

const noEviction = (): void => expect.unreachable();

function full(): ConnectionTable<string> {
  const table = new ConnectionTable<string>();
  for (let i = 0; i < 1024; i++) table.add(`c${i}`, `source-${Math.floor(i / 32)}`, i);
  return table;
}

describe("connections", () => {
  test("one source gets a bounded number, whatever it closes in between", () => {
    const table = new ConnectionTable<number>();
    for (let i = 0; i < 64; i++) table.add(i, "a", 0);
    expect([table.admits("a", noEviction), table.admits("b", noEviction)]).toEqual([false, true]);
    table.remove(0);
    table.remove(0);
    expect(table.admits("a", noEviction)).toBe(true);
    table.add(64, "a", 0);
    expect(table.admits("a", noEviction)).toBe(false);
    expect(table.size).toBe(64);
  });

  test("when all places are taken, the oldest that never sent a valid request makes room", () => {
    const table = full();
    table.proven("c0");
    const evicted: string[] = [];
    const evict = (connection: string): void => {
      evicted.push(connection);
      table.remove(connection);
    };
    expect(table.admits("new", evict)).toBe(true);
    table.add("new", "new", 2000);
    expect(evicted).toEqual(["c1"]);
    expect(table.size).toBe(1024);
  });

  test("nobody makes room for a newcomer when all have proven themselves", () => {
    const table = full();
    for (const connection of table.all) table.proven(connection);
    expect(table.admits("new", noEviction)).toBe(false);
  });

  test("who sends bytes without ever a valid request is given ten seconds, who was valid two minutes of silence", () => {
    const table = new ConnectionTable<string>();
    for (const connection of ["chatty", "silent", "peer", "idle peer"]) table.add(connection, "a", 0);
    table.proven("peer");
    table.proven("idle peer");
    table.heard("chatty", 9999);
    expect(table.expired(10_000)).toEqual([]);
    expect(table.expired(10_001)).toEqual(["chatty", "silent"]);
    table.heard("peer", 100_000);
    table.remove("chatty");
    table.remove("silent");
    expect(table.expired(120_001)).toEqual(["idle peer"]);
    expect(table.expired(220_001)).toEqual(["peer", "idle peer"]);
  });
});

import { describe, expect, it } from "vitest";
import { FairQueue, fairFirst } from "./fair-share.ts";
import type { Target } from "./ports/ports.ts";

const target = (instance: string, namespace?: string): Target => ({
  kind: "istio",
  url: `http://${instance}`,
  instance,
  ...(namespace === undefined ? {} : { namespace }),
});
const pages = (namespace: string, count: number): Target[] =>
  Array.from({ length: count }, (_, index) => target(`${namespace}/${index}`, namespace));
const names = (targets: readonly Target[]): string[] => targets.map(({ instance }) => instance);
const ANY = (): boolean => true;

describe("fairFirst", () => {
  it("takes pages of namespaces in turn, and the operator's before all, where not all can be read", () => {
    const targets = [...pages("evil", 1000), ...pages("shop", 2), target("kubelet/n1")];
    expect(names(fairFirst(targets, 6))).toEqual([
      "evil/0",
      "evil/1",
      "evil/2",
      "shop/0",
      "shop/1",
      "kubelet/n1",
    ]);
  });

  it("leaves out nothing where there is room for all", () => {
    const targets = [...pages("evil", 3), ...pages("shop", 2)];
    expect(fairFirst(targets, 5)).toEqual(targets);
  });
});

describe("FairQueue", () => {
  it("gives what is free to the namespace that has the fewest pages under way", () => {
    const queue = new FairQueue([...pages("evil", 100), ...pages("shop", 3)], 1_000_000);
    const first = [1, 2, 3, 4].map(() => queue.next(ANY)!);
    expect(names(first)).toEqual(["evil/0", "shop/0", "evil/1", "shop/1"]);
    queue.ended(first[1]!, 10);
    expect(queue.next(ANY)!.instance).toBe("shop/2");
    queue.ended(first[3]!, 10);
    expect(queue.next(ANY)!.instance).toBe("evil/2");
  });

  it("lets a namespace that has read its share of the bytes wait for all others", () => {
    const queue = new FairQueue([...pages("evil", 5), ...pages("shop", 5)], 2_000_000);
    const read: string[] = [];
    for (let next = queue.next(ANY); next !== undefined; next = queue.next(ANY)) {
      read.push(next.instance);
      queue.ended(next, next.namespace === "evil" ? 1_000_000 : 100_000);
    }
    expect(read.slice(0, 6)).toEqual(["evil/0", "shop/0", "shop/1", "shop/2", "shop/3", "shop/4"]);
    expect(read).toHaveLength(10);
  });

  it("gives the operator's pages first, and a preferred page before others of any namespace", () => {
    const queue = new FairQueue([...pages("a", 1), ...pages("b", 1), target("kubelet/n1")], 1_000_000);
    expect(queue.next(({ namespace }) => namespace === "b")!.instance).toBe("b/0");
    expect(queue.next(ANY)!.instance).toBe("kubelet/n1");
    expect(queue.next(() => false)!.instance).toBe("a/0");
    expect(queue.next(ANY)).toBeUndefined();
  });
});

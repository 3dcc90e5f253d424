import { describe, expect, it } from "vitest";

import type { PartitionOffset } from "./client/client.ts";
import { CommitQueue } from "./commit-queue.ts";

const ONE = { topic: "t", partition: 1 };
const TWO = { topic: "t", partition: 2 };

describe("CommitQueue", () => {
  it("sends together what is asked for together, the largest offset of each partition", async () => {
    const sent: (readonly PartitionOffset[])[] = [];
    const queue = new CommitQueue(async (offsets) => void sent.push(offsets));
    await Promise.all([queue.add(ONE, 5), queue.add(TWO, 1), queue.add(ONE, 3)]);
    expect(sent).toEqual([
      [
        { ...ONE, offset: 5 },
        { ...TWO, offset: 1 },
      ],
    ]);
  });

  it("has one request under way at a time", async () => {
    const gate = Promise.withResolvers<void>();
    const sent: (readonly PartitionOffset[])[] = [];
    const queue = new CommitQueue(async (offsets) => {
      sent.push(offsets);
      await gate.promise;
    });
    const first = queue.add(ONE, 1);
    await Promise.resolve();
    await Promise.resolve();
    const others = [queue.add(ONE, 2), queue.add(TWO, 7)];
    expect(sent).toEqual([[{ ...ONE, offset: 1 }]]);
    gate.resolve();
    await Promise.all([first, ...others]);
    expect(sent.slice(1)).toEqual([
      [
        { ...ONE, offset: 2 },
        { ...TWO, offset: 7 },
      ],
    ]);
  });

  it("tells a failure to those whom it concerns, and goes on", async () => {
    let failing = true;
    const queue = new CommitQueue(async () => {
      if (failing) throw new Error("no");
    });
    const both = await Promise.allSettled([queue.add(ONE, 1), queue.add(TWO, 1)]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    failing = false;
    await expect(queue.add(ONE, 1)).resolves.toBeUndefined();
  });
});

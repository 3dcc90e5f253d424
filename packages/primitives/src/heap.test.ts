import { array, assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { MinHeap, NumberHeap } from "./heap.ts";

const STEPS = array(integer({ min: -5, max: 20 }), { maxLength: 200 });

test("a MinHeap gives the smallest first, and of equal ones the one that was added first", () => {
  assert(
    property(STEPS, (steps) => {
      const heap = new MinHeap<number>();
      let model: { key: number; item: number }[] = [];
      const popped: [got: number | undefined, expected: number | undefined][] = [];
      for (const [item, key] of steps.entries()) {
        if (key >= 0) {
          heap.push(key, item);
          model.push({ key, item });
        } else {
          const first = model.toSorted((a, b) => a.key - b.key || a.item - b.item)[0];
          popped.push([heap.pop(), first?.item]);
          model = model.filter((each) => each !== first);
        }
        expect(heap.size).toBe(model.length);
        expect(heap.nextKey).toBe(Math.min(...model.map((each) => each.key)));
      }
      expect(popped.map(([got]) => got)).toEqual(popped.map(([, expected]) => expected));
      heap.clear();
      expect([heap.size, heap.nextKey, heap.pop()]).toEqual([0, Infinity, undefined]);
    }),
  );
});

test("a NumberHeap gives the smallest first, and grows", () => {
  assert(
    property(STEPS, (steps) => {
      const heap = new NumberHeap(1);
      const keys: number[] = [];
      const popped: [got: number, expected: number][] = [];
      for (const key of steps) {
        if (key >= 0) {
          heap.push(key, key * 10);
          keys.push(key);
          keys.sort((a, b) => a - b);
        } else if (keys.length > 0) popped.push([heap.pop(), keys.shift()! * 10]);
        expect(heap.size).toBe(keys.length);
        expect(heap.nextKey).toBe(keys[0] ?? Infinity);
      }
      expect(popped.map(([got]) => got)).toEqual(popped.map(([, expected]) => expected));
    }),
  );
});

import { describe } from "vitest";
import { describeApply } from "./cluster-store/apply.ts";
import { describeBinding } from "./cluster-store/binding.ts";
import { describeChanges } from "./cluster-store/changes.ts";
import { describeDeletion } from "./cluster-store/deletion.ts";
import { describeEviction } from "./cluster-store/eviction.ts";
import { StoreHarness } from "./cluster-store/harness.ts";
import type { StoreContract } from "./cluster-store/harness.ts";
import { describeJsonPatch } from "./cluster-store/json-patch.ts";
import { describeObjects } from "./cluster-store/objects.ts";
import { describeScale } from "./cluster-store/scale.ts";
import { describeStatus } from "./cluster-store/status.ts";
import { describeWatch } from "./cluster-store/watch.ts";

/** The API server behaviour that Isochrone relies on. The memory store and the real adapter both pass it. */
export function describeClusterStoreContract(name: string, contract: StoreContract): void {
  describe(`cluster store contract: ${name}`, () => {
    const under = new StoreHarness(contract);
    describe("objects", () => {
      describeObjects(under);
    });
    describe("changes", () => {
      describeChanges(under);
    });
    describe("JSON patch", () => {
      describeJsonPatch(under);
    });
    describe("server-side apply", () => {
      describeApply(under);
    });
    describe("status", () => {
      describeStatus(under);
    });
    describe("eviction", () => {
      describeEviction(under);
    });
    describe("scale", () => {
      describeScale(under);
    });
    describe("binding", () => {
      describeBinding(under);
    });
    describe("deletion", () => {
      describeDeletion(under);
    });
    describe("watch", () => {
      describeWatch(under);
    });
  });
}

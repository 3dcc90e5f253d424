import { describe } from "vitest";
import { describeBackPressure } from "./bus/back-pressure.ts";
import { BusHarness } from "./bus/harness.ts";
import type { BusContract } from "./bus/harness.ts";
import { describeOrder } from "./bus/order.ts";
import { describeSubscribers } from "./bus/subscribers.ts";
import { describeRecords } from "./bus/records.ts";

/** Every adapter passes it. Capabilities declare inherent limits. */
export function describeBusContract(name: string, contract: BusContract): void {
  describe(`bus contract: ${name}`, () => {
    const under = new BusHarness(name, contract);
    describe("order", () => {
      describeOrder(under);
    });
    describe("subscribers", () => {
      describeSubscribers(under);
    });
    describe("records", () => {
      describeRecords(under);
    });
    describe.runIf(contract.capabilities.backPressure)("back-pressure", () => {
      describeBackPressure(under);
    });
  });
}

import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { Testbed, canMakeTestbed } from "./icmp/testbed.ts";
import { describeReplies } from "./icmp/replies.ts";
import { describeSending } from "./icmp/sending.ts";
import { IcmpUnderTest, type IcmpContract } from "./icmp/under-test.ts";

/** Every prober passes it on a real wire. `missing`: reason why it can't run here; null if it can. */
export function describeIcmpContract(
  name: string,
  contract: IcmpContract,
  missing: string | null = null,
): void {
  const reason = missing ?? (canMakeTestbed() ? null : "network namespaces need root");
  const title = reason === null ? "" : ` (skipped: ${reason})`;
  describe.skipIf(reason !== null)(`ICMP contract: ${name}${title}`, () => {
    const under = new IcmpUnderTest(contract);
    beforeAll(async () => {
      under.testbed = await Testbed.open(contract);
    });
    afterEach(async () => {
      await under.testbed.rule(null);
      await under.testbed.stop();
    });
    afterAll(async () => {
      await under.testbed.close();
    });
    describe("sending", () => {
      describeSending(under);
    });
    describe("replies", () => {
      describeReplies(under);
    });
  });
}

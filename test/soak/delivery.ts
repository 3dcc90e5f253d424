// `npm run soak -- delivery`: a million records, with brokers and aggregators killed repeatedly.
import { parseArgs } from "node:util";
import { runDelivery } from "../harness/delivery/delivery.ts";
import { numberOption } from "./numbers.ts";

const USAGE =
  "npm run soak -- delivery [--records N (1000000)] [--rate records/s (5000)] [--kills N (20)] [--seed N (1)] [--client platformatic|kafkajs]";

export async function runDeliverySoak(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      records: { type: "string", default: "1000000" },
      rate: { type: "string", default: "5000" },
      kills: { type: "string", default: "20" },
      seed: { type: "string", default: "1" },
      client: { type: "string", default: "platformatic" },
    },
  });
  const { client } = values;
  if (client !== "platformatic" && client !== "kafkajs")
    throw new Error(`--client must be platformatic or kafkajs, got "${client}"\n${USAGE}`);
  const records = numberOption("--records", values.records, 1000, 1e8, USAGE);
  const perSecond = numberOption("--rate", values.rate, 10, 1e6, USAGE);
  const count = numberOption("--kills", values.kills, 0, 1000, USAGE);
  const away = { least: 500, most: 4000 };
  const meanAwayMs = (away.least + away.most) / 2;
  // All faults happen while records are sent.
  const everyMs = Math.max(500, ((records / perSecond) * 1000 * 0.9) / Math.max(1, count) - meanAwayMs);
  const result = await runDelivery({
    records,
    perSecond,
    producers: 3,
    aggregators: 3,
    brokers: 3,
    client,
    faults: { count, everyMs, awayMs: away },
    victims: ["aggregator", "broker"],
    lostAcknowledgementRatio: 0.01,
    seed: numberOption("--seed", values.seed, 0, 2 ** 31, USAGE),
    log: (line) => console.log(line),
  });
  for (const verdict of result.verdicts) console.log(JSON.stringify(verdict));
  console.log(`${result.exact ? "ok    " : "FAILED"} every record counted once, in ${result.seconds} s`);
  return result.exact;
}

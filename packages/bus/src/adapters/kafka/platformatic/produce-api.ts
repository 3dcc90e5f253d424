import { createAPI, produceV9, Writer } from "@platformatic/kafka";

const PRODUCE = 0;
const VERSION = 9;
const ALL_REPLICAS = -1;

type ProduceArguments = [timeoutMs: number, topic: string, partition: number, batch: Buffer];

/** Sends a packed batch. Acknowledged when all in-sync replicas have it. */
export const produceApi = createAPI<ProduceArguments, produceV9.ProduceResponse>(
  PRODUCE,
  VERSION,
  createRequest,
  produceV9.parseResponse,
);

function createRequest(...[timeoutMs, topic, partition, batch]: ProduceArguments): Writer {
  return Writer.create()
    .appendString(null)
    .appendInt16(ALL_REPLICAS)
    .appendInt32(timeoutMs)
    .appendArray([topic], (writer, name) => {
      writer.appendString(name).appendArray([partition], (inner, index) => {
        inner
          .appendInt32(index)
          .appendUnsignedVarInt(batch.length + 1)
          .append(batch);
      });
    })
    .appendTaggedFields();
}

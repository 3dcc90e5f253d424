// Exponential histograms as Prometheus scrapes them: native histograms exist in its protobuf format only.
import protobuf from "protobufjs";

// The part of io.prometheus.client (client_model) that is needed; other fields are passed over.
const PROTO = `
syntax = "proto3";
message MetricFamily { string name = 1; repeated Metric metric = 4; }
message Metric { Histogram histogram = 7; }
message BucketSpan { sint32 offset = 1; uint32 length = 2; }
message Histogram {
  uint64 sample_count = 1; double sample_sum = 2; sint32 schema = 5; uint64 zero_count = 7;
  repeated BucketSpan positive_span = 12; repeated sint64 positive_delta = 13;
}
`;

const family = protobuf.parse(PROTO).root.lookupType("MetricFamily");
const ACCEPT = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

interface NativeHistogram {
  readonly count: number;
  readonly sum: number;
  /** Buckets grow by 2^(2^-schema). */
  readonly schema: number;
  readonly zeroCount: number;
  /** Samples in all positive buckets together. */
  readonly positiveCount: number;
}

/** The first series of the family; null without it. */
export async function scrapeNativeHistogram(url: string, name: string): Promise<NativeHistogram | null> {
  const answer = await fetch(url, { headers: { accept: ACCEPT } });
  const reader = protobuf.Reader.create(new Uint8Array(await answer.arrayBuffer()));
  while (reader.pos < reader.len) {
    const decoded = family.toObject(family.decodeDelimited(reader), { longs: Number, defaults: true }) as {
      name: string;
      metric: { histogram: Record<string, number> & { positiveDelta: number[] } }[];
    };
    if (decoded.name !== name) continue;
    const histogram = decoded.metric[0]!.histogram;
    let inBucket = 0;
    let positiveCount = 0;
    // Each bucket's count is given as its difference to the one before.
    for (const delta of histogram.positiveDelta) positiveCount += inBucket += delta;
    return {
      count: histogram["sampleCount"]!,
      sum: histogram["sampleSum"]!,
      schema: histogram["schema"]!,
      zeroCount: histogram["zeroCount"]!,
      positiveCount,
    };
  }
  return null;
}

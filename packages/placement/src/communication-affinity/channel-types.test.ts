import { describe, expect, test } from "vitest";
import { ChannelTypes } from "./channel-types.ts";

describe("the relationship types", () => {
  test.each([
    ["PriorityRoute", 0],
    ["SynchronousRoute", 25],
    ["AsynchronousRoute", 1],
    ["HTTPRoute", 100],
    ["gRPCRoute", 50],
    ["AMQPRoute", 5],
    ["HTTPServerPushRoute", 10],
    ["kubernetes:HTTPRoute", 100],
    ["HttpRoute", null],
  ])("give %s priority %j, as figure 1 has it", (name, priority) => {
    expect(new ChannelTypes().priorityOf(name)).toBe(priority);
  });

  test("can be overridden, extended, and moved to another parent", () => {
    const types = ChannelTypes.parse(
      "HTTPRoute=80, MQTTRoute<AsynchronousRoute=2,GraphQLRoute < HTTPRoute,Plain, Sub<GraphQLRoute,",
    );
    const priorities = ["HTTPRoute", "MQTTRoute", "GraphQLRoute", "Plain", "Sub", "gRPCRoute"].map((name) =>
      types.priorityOf(name),
    );
    expect(priorities).toEqual([80, 2, 80, 0, 80, 50]);
    const moved = new ChannelTypes([
      { name: "Odd", derivedFrom: "AMQPRoute" },
      { name: "Odd", priority: 3 },
    ]);
    expect(moved.priorityOf("Odd")).toBe(3);
  });

  test("know the largest of their priorities", () => {
    expect(new ChannelTypes().largestPriority).toBe(100);
    expect(ChannelTypes.parse("HTTPRoute=80, Urgent=900").largestPriority).toBe(900);
    expect(ChannelTypes.parse("HTTPRoute=80").largestPriority).toBe(80);
  });

  test("may be declared before the type that they are derived from", () => {
    expect(ChannelTypes.parse("B<A, A=7").priorityOf("B")).toBe(7);
  });

  test.each([
    ["A<B", /channelPriorities must derive A from a type that exists, got B/],
    ["A<B, B<A", /must not be derived from itself, got A < B < A/],
    ["PriorityRoute<HTTPRoute", /must not be derived from itself/],
    ["A=-1", /must give A a finite priority of at least 0, got -1/],
    ["A=much", /must give A a finite priority of at least 0, got NaN/],
    ["A==1", /must be entries such as .* got A==1/],
    ["A B", /must be entries such as .* got A B/],
  ])("%j is refused", (text, message) => {
    expect(() => ChannelTypes.parse(text)).toThrow(message);
  });
});

// Both scenarios in ns-3: three hops there and three back, 100 Mbit/s and 100 packets each, 20 ms for a round trip. As
// `three_hops` of src/main.rs. Nothing is traced, and no queue discipline stands before a device's own queue.
//
// Prints, for benches/src/peers.rs, the packets that arrived and the seconds of processor time.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>

namespace {

constexpr uint16_t kPort = 9;
// Payload of 1500 B without TCP options, and of 1000 B of UDP.
constexpr uint32_t kSegment = 1460;
constexpr uint32_t kDatagram = 972;

// What the two other simulators have: no options, no selective acknowledgements, one acknowledgement per packet, windows
// that only the network limits.
void
SetUpTcp()
{
    using namespace ns3;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 22));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 22));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

// Connects `nodes` in a row and answers the last one's address.
ns3::Ipv4Address
Connect(const ns3::NodeContainer& nodes)
{
    using namespace ns3;
    Ipv4StaticRoutingHelper routing;
    InternetStackHelper stack;
    stack.SetRoutingHelper(routing);
    stack.Install(nodes);

    PointToPointHelper hop;
    hop.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    hop.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100p"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const char* delays[] = {"3ms", "3ms", "4ms"};
    Ipv4InterfaceContainer ends[3];
    for (uint32_t i = 0; i < 3; ++i)
    {
        hop.SetChannelAttribute("Delay", StringValue(delays[i]));
        NetDeviceContainer devices = hop.Install(nodes.Get(i), nodes.Get(i + 1));
        ends[i] = addresses.Assign(devices);
        addresses.NewNetwork();
        TrafficControlHelper().Uninstall(devices);
    }
    auto table = [&](uint32_t node) {
        return routing.GetStaticRouting(nodes.Get(node)->GetObject<Ipv4>());
    };
    // Interface 0 is the loopback, 1 leads back except at the first node.
    table(0)->SetDefaultRoute(ends[0].GetAddress(1), 1);
    table(1)->SetDefaultRoute(ends[1].GetAddress(1), 2);
    table(2)->SetDefaultRoute(ends[1].GetAddress(0), 1);
    table(3)->SetDefaultRoute(ends[2].GetAddress(0), 1);
    return ends[2].GetAddress(1);
}

} // namespace

int
main(int argc, char* argv[])
{
    using namespace ns3;
    const std::string name = argc == 2 ? argv[1] : "";
    const bool tcp = name == "newreno-3-hops";
    if (!tcp && name != "cbr-3-hops")
    {
        std::cerr << argv[0] << ": found \"" << name << "\", expected newreno-3-hops or cbr-3-hops\n";
        return 2;
    }
    SetUpTcp();
    NodeContainer nodes(4);
    const Ipv4Address last = Connect(nodes);
    const InetSocketAddress there(last, kPort);
    const std::string protocol = tcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
    PacketSinkHelper sinks(protocol, InetSocketAddress(Ipv4Address::GetAny(), kPort));
    ApplicationContainer sink = sinks.Install(nodes.Get(3));
    ApplicationContainer source;
    if (tcp)
    {
        BulkSendHelper bulk(protocol, there);
        source = bulk.Install(nodes.Get(0));
    }
    else
    {
        UdpClientHelper cbr(last, kPort);
        cbr.SetAttribute("PacketSize", UintegerValue(kDatagram));
        cbr.SetAttribute("Interval", TimeValue(MicroSeconds(160)));
        cbr.SetAttribute("MaxPackets", UintegerValue(1000000));
        source = cbr.Install(nodes.Get(0));
    }
    source.Start(Seconds(0));

    Simulator::Stop(Seconds(100));
    const std::clock_t before = std::clock();
    Simulator::Run();
    const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    const uint64_t bytes = DynamicCast<PacketSink>(sink.Get(0))->GetTotalRx();
    std::cout << bytes / (tcp ? kSegment : kDatagram) << " " << seconds << "\n";
    Simulator::Destroy();
    return 0;
}

# Datagrams of 1000 B at 50 Mbit/s.
source [file join [file dirname [info script]] three-hops.tcl]

set udp [new Agent/UDP]
$udp set packetSize_ 1000
set sink [new Agent/LossMonitor]
$ns attach-agent $a $udp
$ns attach-agent $d $sink
$ns connect $udp $sink
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1000
$cbr set rate_ 50Mb
$cbr attach-agent $udp
$ns at 0.0 "$cbr start"

measure {$sink set npkts_}

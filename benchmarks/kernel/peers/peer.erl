%% Ping-pong and a ring of 100 between processes, for benchmarks/kernel/peers/process.py: after "ready RELEASE", each line
%% "name count" is answered with "cpu wall", in seconds.
-module(peer).
-export([main/0]).

main() ->
    io:format("ready ~s~n", [erlang:system_info(otp_release)]),
    serve().

serve() ->
    case io:get_line("") of
        Line when is_list(Line) ->
            [Name, Count] = string:tokens(string:trim(Line), " "),
            {Cpu, Wall} = timed(Name, list_to_integer(Count)),
            io:format("~.9f ~.9f~n", [Cpu, Wall]),
            serve();
        _ ->
            halt(0)
    end.

timed(Name, Count) ->
    erlang:garbage_collect(),
    {Cpu0, _} = erlang:statistics(runtime),
    Wall0 = erlang:monotonic_time(nanosecond),
    run(Name, Count),
    Wall1 = erlang:monotonic_time(nanosecond),
    {Cpu1, _} = erlang:statistics(runtime),
    {(Cpu1 - Cpu0) / 1000, (Wall1 - Wall0) / 1000000000}.

run("ping-pong", Count) -> around(2, 2 * Count);
run("ring", Hops) -> around(100, Hops).

around(Size, Hops) ->
    Me = self(),
    Links = [spawn(fun() -> receive {next, Next} -> hop(Next, Me) end end) || _ <- lists:seq(1, Size)],
    [First | Others] = Links,
    lists:foreach(fun({Link, Next}) -> Link ! {next, Next} end, lists:zip(Links, Others ++ [First])),
    First ! Hops,
    receive done -> ok end,
    lists:foreach(fun(Link) -> exit(Link, kill) end, Links).

hop(Next, Me) ->
    receive
        0 -> Me ! done, hop(Next, Me);
        Left -> Next ! (Left - 1), hop(Next, Me)
    end.

"""The radio over HTTP.

app, context        all routes as one application, and what they share
routes/             one file per group of routes; each route says who may use it
guards              who may use a route: everybody, listeners, administrators
gate                what every request passes: hosts, origins, limits, headers, the access log
authentication, session_cache, cookies, passwords_desk, throttle, setup_token
                    who somebody is, and how guessing is kept slow
access, exposure    whose address and name count, and what may be listened on
strict_json, queries
                    what comes in, checked
problems            what goes wrong, in one shape
openapi             the description of all this
ranges, file_response, download_names
                    files, and parts of them
song_json, event_json, playlist_answer
                    values as answers
server, patience, workers, turns, logs, memory
                    the process itself: sockets, threads, what it prints
static/, page_files the page, and how its files are held
"""
